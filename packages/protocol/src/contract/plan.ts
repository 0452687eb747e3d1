import { z } from 'zod'
import { environmentSchema, hashSchema, timeSchema } from '../base/ids.js'
import { contractSchema, sessionDefinitionSchema } from './contract.js'
import { evidenceClassSchema, evidenceLevelSchema, sideEffectSchema } from './contract-rules.js'

/** A contract after compilation: defaults filled in, prose left out. */
export const compiledContractSchema = contractSchema
  .omit({
    schema_version: true,
    description: true,
    source: true,
  })
  .extend({
    side_effect: sideEffectSchema,
    evidence_class: evidenceClassSchema,
    commit_requirement: evidenceLevelSchema,
  })
export type CompiledContract = z.infer<typeof compiledContractSchema>

export const compiledDefinitionSchema = sessionDefinitionSchema.omit({ schema_version: true, description: true })

/** The plan: canonical JSON whose SHA-256 is `compiled_hash`. Contracts are sorted by tool. */
export const compiledSessionSchema = z.strictObject({
  plan_version: z.literal(1),
  session: compiledDefinitionSchema,
  contracts: z.array(compiledContractSchema),
})
export type CompiledSession = z.infer<typeof compiledSessionSchema>

/** One file of a contract pack as it is submitted. */
export const packFileSchema = z.strictObject({ file: z.string().min(1).max(200), text: z.string().max(200_000) })

export const planStatusSchema = z.enum(['none', 'draft', 'approved'])

export const planMetadataSchema = z.strictObject({
  plan_id: z.string(),
  compiled_hash: hashSchema,
  created_at: timeSchema,
  approved_at: timeSchema.nullable(),
  approved_by: z.string().nullable(),
  contracts: z.int(),
})

export const planLookupQuery = z.strictObject({ agent: z.string().min(1).max(128), environment: environmentSchema })
export const planLookupReply = z.strictObject({
  agent: z.string(),
  environment: environmentSchema,
  status: planStatusSchema,
  compiled_session: compiledSessionSchema.nullable(),
  compiled_hash: hashSchema.nullable(),
  approved: planMetadataSchema.nullable(),
  draft: planMetadataSchema.nullable(),
})
export type PlanLookup = z.infer<typeof planLookupReply>
