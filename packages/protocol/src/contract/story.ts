import { z } from 'zod'
import { BLOCK_REASON_NAMES } from '../base/block-reasons.js'
import { labelSchema, toolNameSchema } from '../base/ids.js'
import { jsonObjectSchema, jsonSchema } from '../base/json.js'
import { LIMITS } from '../base/limits.js'
import { pathSchema } from './condition.js'

/** One call of a story, and what must be decided about it. */
export const storyStepSchema = z
  .strictObject({
    call: toolNameSchema,
    with: jsonObjectSchema.default({}),
    /** What the tool returns if it runs. */
    result: jsonSchema.optional(),
    /** The tool runs and fails. */
    fails: z.boolean().default(false),
    /** What the user says before. */
    user: z.string().optional(),
    /** The time of this call and of those after it. */
    at: z.iso.datetime({ offset: true }).optional(),
    /** `ask`: a person is asked first. */
    expect: z.enum(['allow', 'block', 'ask']),
    /** What the person who is asked says. */
    answer: z.enum(['approve', 'deny']).default('approve'),
    /** The call as the person who approves changes it. */
    edited: jsonObjectSchema.optional(),
    /** The first reason of the block. */
    reason: z.enum(BLOCK_REASON_NAMES).optional(),
    /** An argument that the block names. */
    path: pathSchema.optional(),
    /** Tools that the model is not offered before this call; others may be missing too. */
    hidden: z.array(toolNameSchema).optional(),
  })
  .refine((step) => step.expect === 'block' || (step.reason === undefined && step.path === undefined), {
    error: '`reason` and `path` are about a block: write `expect: block`',
  })
  .refine((step) => step.edited === undefined || (step.expect === 'ask' && step.answer === 'approve'), {
    error: '`edited` is what a person approves: write `expect: ask`',
  })
export type StoryStep = z.infer<typeof storyStepSchema>

export const storySchema = z.strictObject({
  name: z.string().min(1).max(200),
  labels: z.array(labelSchema).default([]),
  principal: jsonSchema.optional(),
  steps: z.array(storyStepSchema).min(1).max(LIMITS.toolsPerPreflight),
})
export type Story = z.infer<typeof storySchema>

/** A `*.test.yaml` beside contracts: sessions as stories, judged without a service. */
export const storyFileSchema = z.strictObject({ stories: z.array(storySchema).min(1).max(512) })
export type StoryFile = z.input<typeof storyFileSchema>
