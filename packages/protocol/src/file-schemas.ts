import { z } from 'zod'
import {
  argumentRuleSchema,
  CONDITION_SUBJECTS,
  conditionSchema,
  invariantSchema,
  OPERATORS,
} from './contract/condition.js'
import { contractSchema, sessionDefinitionSchema } from './contract/contract.js'
import { aggregateSchema } from './contract/contract-rules.js'
import { CONTRACT_KEYS, SESSION_KEYS, STORY_KEYS } from './contract/key-meanings.js'
import { sharedLimitSchema } from './contract/shared-limit.js'
import { storyFileSchema, storyStepSchema } from './contract/story.js'
import type { JsonSchema } from './named-schemas.js'
import * as shapes from './shapes.js'

interface FileKind {
  readonly title: string
  /** What the compiler parses the file with. */
  readonly schema: z.ZodType
  readonly keys: Readonly<Record<string, string>>
}

const FILES = {
  contract: { title: 'A contract: the rules of one tool', schema: contractSchema, keys: CONTRACT_KEYS },
  session: {
    title: 'session.yaml: the rules of a whole session',
    schema: sessionDefinitionSchema,
    keys: SESSION_KEYS,
  },
  test: { title: 'Stories for `countersign test`: *.test.yaml', schema: storyFileSchema, keys: STORY_KEYS },
} as const satisfies Record<string, FileKind>

export type FileName = keyof typeof FILES
export const FILE_NAMES = Object.keys(FILES) as [FileName, ...FileName[]]

const has = (...required: readonly string[]) => ({ required })
const oneOf = (...names: readonly string[]) => ({ anyOf: names.map((name) => ({ required: [name] })) })

/** Conditions that look at no argument. */
const READS_NOTHING: JsonSchema = { items: { not: oneOf('path', 'key') } }

/** What the shapes ask of several keys together, which cannot be derived from them. */
const TOGETHER: ReadonlyMap<unknown, readonly JsonSchema[]> = new Map<unknown, readonly JsonSchema[]>([
  [invariantSchema, [oneOf(...OPERATORS)]],
  [argumentRuleSchema, [oneOf(...OPERATORS)]],
  [conditionSchema, [{ oneOf: CONDITION_SUBJECTS.map((subject) => has(subject)) }, oneOf('label', ...OPERATORS)]],
  [
    aggregateSchema,
    [
      oneOf('lte', 'lt'),
      { anyOf: [{ required: ['path'] }, { properties: { function: { const: 'count' } }, required: ['function'] }] },
    ],
  ],
  [
    sharedLimitSchema,
    [
      { oneOf: [has('max_calls'), has('sum'), has('cost')] },
      { oneOf: [has('max_calls'), has('lte')] },
      // Only the arguments of a tool can be read, and a model call has none.
      {
        anyOf: [
          has('tool'),
          has('cost'),
          { properties: { per: { type: 'string' }, when: READS_NOTHING }, not: has('sum') },
        ],
      },
      { anyOf: [{ not: has('cost') }, { properties: { per: { type: 'string' } }, not: oneOf('tool', 'when') }] },
    ],
  ],
  [storyStepSchema, [{ anyOf: [{ properties: { expect: { const: 'block' } } }, { not: oneOf('reason', 'path') }] }]],
])

/**
 * The JSON Schema of a file that people write, for editors: the shape that the compiler parses it with. What depends on
 * several rules or files (a name that no rule binds, a phase that nothing leads to) only the compiler knows.
 */
export function fileSchema(name: FileName): JsonSchema {
  const { title, schema, keys }: FileKind = FILES[name]
  const names = z.registry<{ id: string }>()
  for (const [exported, shape] of Object.entries(shapes)) {
    const isPart = shape instanceof z.ZodType && shape !== schema
    if (isPart) names.add(shape, { id: exported.replace(/Schema$/, '') })
  }
  // Draft 7, because editors for YAML know it best.
  const { $schema, ...rest } = z.toJSONSchema(schema, {
    target: 'draft-7',
    io: 'input',
    unrepresentable: 'any',
    metadata: names,
    override: ({ zodSchema, jsonSchema }) => {
      const together = TOGETHER.get(zodSchema)
      if (together !== undefined) jsonSchema.allOf = [...together]
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
    },
  })
  const properties = Object.entries(rest.properties ?? {}).map(([key, value]) => [
    key,
    typeof value === 'object' && value.$ref !== undefined
      ? { description: keys[key], allOf: [value] }
      : { description: keys[key], ...(value as JsonSchema) },
  ])
  return { $schema, title, ...rest, properties: Object.fromEntries(properties) }
}
