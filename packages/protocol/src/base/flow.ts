import { z } from 'zod'

/**
 * Where the values of a call's arguments were seen before. A flow describes and never quotes: paths are generalised
 * (indexes, and object keys that may be data, become `*`), so that it may travel where content may not.
 */
export const FLOW_LIMITS = {
  calls: 64,
  leavesPerCall: 256,
  tokensPerLeaf: 64,
  sourcesPerValue: 12,
  columns: 512,
  priorTools: 64,
  longTexts: 32,
  pathLength: 256,
} as const

/**
 * The kinds of value that source rules distinguish. `prose` is free text: nothing vouches for what is inside it. A
 * `phrase` has many words and is no sentence, like a postal address or a title.
 */
export const VALUE_KINDS = [
  'empty',
  'boolean',
  'number',
  'date',
  'email',
  'url',
  'id',
  'name',
  'phrase',
  'prose',
] as const
export const valueKindSchema = z.enum(VALUE_KINDS)
export type ValueKind = z.infer<typeof valueKindSchema>

/** How a value occurred in a result: a whole cell, a key of a map, its own line or item in free text, within prose. */
export const RESULT_PLACES = ['cell', 'key', 'line', 'prose'] as const
export const resultPlaceSchema = z.enum(RESULT_PLACES)
export type ResultPlace = z.infer<typeof resultPlaceSchema>

const toolName = z.string().min(1).max(256)
const flowPath = z.string().min(1).max(FLOW_LIMITS.pathLength)
const kinds = z.array(valueKindSchema).max(VALUE_KINDS.length)

export const valueSourceSchema = z.discriminatedUnion('seen', [
  z.strictObject({ seen: z.literal('user') }),
  z.strictObject({ seen: z.literal('argument'), tool: toolName, path: flowPath }),
  z.strictObject({
    seen: resultPlaceSchema,
    tool: toolName,
    path: flowPath,
    /** What this column has contained so far in the conversation; only for a cell or a key. */
    holds: kinds.optional(),
    /** The value is the latest one at this single place of a result. */
    latest: z.boolean().optional(),
  }),
])
export type ValueSource = z.infer<typeof valueSourceSchema>

const sources = z.array(valueSourceSchema).max(FLOW_LIMITS.sourcesPerValue)

/** One string or number among the arguments. `sources` are in the order they were first seen; empty: nowhere. */
export const leafFlowSchema = z.strictObject({
  path: flowPath,
  kind: valueKindSchema,
  sources,
  /** Addresses and identifiers found inside free text, in the order of their first occurrence. */
  tokens: z
    .array(z.strictObject({ kind: valueKindSchema, sources }))
    .max(FLOW_LIMITS.tokensPerLeaf)
    .optional(),
})
export type LeafFlow = z.infer<typeof leafFlowSchema>

/**
 * How a call fits the user's words, and what was read before it. `mandate`: 0 if they name the tool's deed and its object,
 * 1 for one of the two, 2 for neither. `imperative`: how many turns of phrase in one text of a result tell the reader
 * what to do. `texts`: how long the texts in columns of results were.
 */
export const callSignsSchema = z.strictObject({
  mandate: z.int().min(0).max(2),
  imperative: z.int().min(0).max(99),
  texts: z.array(z.strictObject({ tool: toolName, path: flowPath, length: z.int().min(0) })).max(FLOW_LIMITS.longTexts),
})
export type CallSigns = z.infer<typeof callSignsSchema>

export const callFlowSchema = z.strictObject({
  call_id: z.string().max(256),
  tool: toolName,
  leaves: z.array(leafFlowSchema).max(FLOW_LIMITS.leavesPerCall),
  /** Tools already called in this conversation, each once; and how often this one was. */
  prior_tools: z.array(toolName).max(FLOW_LIMITS.priorTools),
  prior_calls: z.int().min(0),
  /** Something seen earlier was dropped, or arguments were left out: "nowhere" proves nothing. */
  incomplete: z.boolean().optional(),
  signs: callSignsSchema.optional(),
})
export type CallFlow = z.infer<typeof callFlowSchema>

export const columnPlaceSchema = z.enum(['cell', 'key'])
/** What one column of a tool's results has contained. */
export const columnSchema = z.strictObject({
  tool: toolName,
  path: flowPath,
  place: columnPlaceSchema,
  holds: kinds,
  /** The length of its longest text so far. */
  longest: z.int().min(0).optional(),
})
export type Column = z.infer<typeof columnSchema>

export const flowsSchema = z.strictObject({
  calls: z.array(callFlowSchema).max(FLOW_LIMITS.calls),
  /** Columns of the results seen since the last capture of this conversation. */
  columns: z.array(columnSchema).max(FLOW_LIMITS.columns).optional(),
  /**
   * Fingerprint of the user's first request, under a key that the server does not store: it shows whether two requests
   * are the same, and nothing else.
   */
  request: z
    .string()
    .regex(/^[0-9a-f]{32}$/)
    .optional(),
  /**
   * Which words that request has, as hashes under the same key, four characters each: how many of them agree shows how
   * much two requests have in common. Older clients send the smallest of 32 hashes over the words, a byte each.
   */
  request_words: z
    .string()
    .regex(/^(?:[0-9a-f]{64}|w(?:[A-Za-z0-9_-]{4}){0,64})$/)
    .optional(),
})
export type Flows = z.infer<typeof flowsSchema>
