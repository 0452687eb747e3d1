import { z } from 'zod'
import { labelSchema } from '../base/ids.js'
import { jsonSchema } from '../base/json.js'
import { narrowedToolSchema } from '../session/session.js'
import { blockReasonSchema, blockSchema } from '../session/turn.js'

export const playgroundBody = z.strictObject({
  contracts: z
    .array(z.strictObject({ file: z.string().min(1).max(200), text: z.string().max(200_000) }))
    .min(1)
    .max(100),
  session: z.string().max(200_000).optional(),
  response: jsonSchema,
  unmatched_policy: z.enum(['block', 'allow']).default('block'),
  labels: z.array(labelSchema).max(128).default([]),
  principal: jsonSchema.optional(),
})
const noteSchema = z.strictObject({
  file: z.string(),
  line: z.int().nullable(),
  message: z.string(),
  fix: z.string().nullable(),
})
export const playgroundReply = z.strictObject({
  ok: z.boolean(),
  errors: z.array(noteSchema),
  warnings: z.array(noteSchema),
  compiled_hash: z.string().nullable(),
  narrowing: z.strictObject({ allowed: z.array(z.string()), removed: z.array(narrowedToolSchema) }).nullable(),
  /** For each call every reason of the ladder in order of precedence, and whether it applies. */
  calls: z.array(
    z.strictObject({
      call_id: z.string(),
      tool_name: z.string(),
      decision: z.enum(['allow', 'block']),
      ladder: z.array(z.strictObject({ reason: blockReasonSchema, applies: z.boolean() })),
      reasons: z.array(blockSchema),
      checkpoints: z.array(z.string()),
    }),
  ),
})
export type PlaygroundView = z.infer<typeof playgroundReply>
