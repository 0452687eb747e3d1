import { z } from 'zod'
import { labelSchema } from '../base/ids.js'
import { jsonSchema } from '../base/json.js'
import { allowOrBlockSchema } from '../contract/contract-rules.js'
import { packFileSchema } from '../contract/plan.js'
import { narrowingSnapshotSchema, unmatchedPolicySchema } from '../session/session.js'
import { blockReasonSchema, blockSchema } from '../session/turn.js'

export const playgroundBody = z.strictObject({
  contracts: z.array(packFileSchema).min(1).max(100),
  session: z.string().max(200_000).optional(),
  response: jsonSchema,
  unmatched_policy: unmatchedPolicySchema.default('block'),
  labels: z.array(labelSchema).max(128).default([]),
  principal: jsonSchema.optional(),
})
export const packNoteSchema = z.strictObject({
  file: z.string(),
  line: z.int().nullable(),
  message: z.string(),
  fix: z.string().nullable(),
})
export const playgroundReply = z.strictObject({
  ok: z.boolean(),
  errors: z.array(packNoteSchema),
  warnings: z.array(packNoteSchema),
  compiled_hash: z.string().nullable(),
  narrowing: narrowingSnapshotSchema.nullable(),
  /** For each call every reason of the ladder in order of precedence, and whether it applies. */
  calls: z.array(
    z.strictObject({
      call_id: z.string(),
      tool_name: z.string(),
      decision: allowOrBlockSchema,
      ladder: z.array(z.strictObject({ reason: blockReasonSchema, applies: z.boolean() })),
      reasons: z.array(blockSchema),
      checkpoints: z.array(z.string()),
    }),
  ),
})
export type PlaygroundView = z.infer<typeof playgroundReply>
