import { z } from 'zod'
import { flowsSchema } from '../base/flow.js'
import { agentSchema, idSchema, timeSchema, toolNameSchema } from '../base/ids.js'
import type { JsonValue } from '../base/json.js'
import { LIMITS } from '../base/limits.js'
import { allowOrBlockSchema } from '../contract/contract-rules.js'
import { captureLevelSchema } from './session.js'
import { usageSchema } from './turn.js'

/** A parsed body is JSON already: walking through it again would cost more than all other checks together. */
const json = z.unknown() as unknown as z.ZodType<JsonValue, JsonValue>

/** One observed model call. What the capture level forbids is dropped by the server, whatever the client sent. */
export const captureItemSchema = z.strictObject({
  capture_id: idSchema,
  schema_version: z.literal('1.0'),
  capture_level: captureLevelSchema,
  agent: agentSchema,
  conversation_id: idSchema,
  timestamp: timeSchema,
  provider: z.string().max(64),
  model_id: z.string().max(256).nullable(),
  primary_tool_name: toolNameSchema.nullable(),
  tool_names: z.array(toolNameSchema).max(LIMITS.callsPerProposal),
  request: z.strictObject({
    messages: z.array(json).optional(),
    tools: z
      .array(z.strictObject({ name: toolNameSchema, kind: z.string().max(64).optional(), schema: json.optional() }))
      .max(LIMITS.toolsPerPreflight),
    tool_choice: json.optional(),
  }),
  response: z.strictObject({
    tool_calls: z
      .array(z.strictObject({ id: z.string().max(256), name: toolNameSchema, arguments: z.string().nullable() }))
      .max(LIMITS.callsPerProposal),
    content: z.string().nullable(),
    finish_reason: z.string().max(64).nullable(),
  }),
  /** The verdict of a shadow or enforced evaluation, by call. */
  validation: z
    .strictObject({
      mode: z.enum(['enforce', 'shadow', 'advisory']),
      pass: z.boolean(),
      calls: z.array(z.strictObject({ index: z.int(), decision: allowOrBlockSchema, reasons: z.array(z.string()) })),
    })
    .optional(),
  usage: usageSchema.optional(),
  latency_ms: z.number().min(0),
  sdk_session_id: idSchema.optional(),
  flows: flowsSchema.optional(),
})
export type CaptureItem = z.infer<typeof captureItemSchema>

/** Items are validated one by one, so the batch accepts any object here. */
export const capturesBody = z.strictObject({ captures: z.array(json).min(1).max(LIMITS.capturesPerBatch) })
export const capturesReply = z.strictObject({
  accepted: z.int(),
  duplicates: z.int(),
  rejected: z.array(
    z.strictObject({
      index: z.int(),
      capture_id: z.string().nullable(),
      code: z.enum(['INVALID_CAPTURE', 'TOO_LARGE']),
      message: z.string(),
    }),
  ),
})
