import { z } from 'zod'
import { LIMITS } from '../base/limits.js'
import { GROUP_PATTERN } from '../base/roles.js'
import { pathSchema } from './condition.js'

const UNIT_SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const
const SPAN = /^([1-9][0-9]{0,5})([smhd])$/

/** How long a span such as `30s`, `15m`, `4h` or `7d` is. NaN if it is not one. */
export function spanSeconds(text: string): number {
  const found = SPAN.exec(text)
  return found === null ? Number.NaN : Number(found[1]) * UNIT_SECONDS[found[2] as keyof typeof UNIT_SECONDS]
}

const MOST_SECONDS = LIMITS.askWindowMaxDays * UNIT_SECONDS.d
const SPAN_FORM = `expected a time such as 15m, 4h or 7d, of at most ${LIMITS.askWindowMaxDays}d`
const spanSchema = z
  .string()
  .regex(SPAN, { error: SPAN_FORM, abort: true })
  .refine((text) => spanSeconds(text) <= MOST_SECONDS, { error: SPAN_FORM })

/** Who is asked: `owner`, `approver` (owners are approvers, too), or the members of a group. */
export const askedRoleSchema = z
  .string()
  .regex(GROUP_PATTERN, { error: 'expected owner, approver, or the name of a group such as finance', abort: true })
  .refine((role) => role !== 'viewer', 'viewers decide nothing: ask approver, owner or a group')

/** Whether the person whom the session acts for may answer: `confirm` lets them, and the record says so. */
export const selfSchema = z.enum(['confirm', 'never'])
export type Self = z.infer<typeof selfSchema>

/** Who is asked as well, and when. */
export const escalationSchema = z.strictObject({ after: spanSchema, role: askedRoleSchema })

const who = {
  role: askedRoleSchema.default('approver'),
  /** How many different people have to say yes. */
  count: z.int().min(1).max(LIMITS.askCount).default(1),
  /** Absent: `confirm` where one person decides, `never` where several do. */
  self: selfSchema.optional(),
  /** How long the question waits; shorter than 30 seconds is 30 seconds. */
  window: spanSchema.default('24h'),
  /** At which share of the window people are reminded, in percent. */
  remind: z.array(z.int().min(1).max(99)).max(LIMITS.askReminders).default([50, 90]),
  /** Who is asked as well when nobody has decided so long after. */
  escalate: z.array(escalationSchema).max(LIMITS.askSteps).default([]),
}

/** In session.yaml: whom every checkpoint asks that does not say, and how. */
export const askSchema = z.strictObject(who)
export type Ask = z.infer<typeof askSchema>
export type WrittenAsk = z.input<typeof askSchema>

export const selfOf = ({ self, count }: Pick<Ask, 'self' | 'count'>): Self => self ?? (count > 1 ? 'never' : 'confirm')

export const windowSecondsOf = ({ window }: Pick<Ask, 'window'>): number =>
  Math.max(LIMITS.askWindowMinSeconds, spanSeconds(window))

/** How an answer may change an argument: a smaller number, fewer elements of a list, another of the values that are listed. */
export const editKindSchema = z.enum(['lower', 'fewer', 'one_of'])
export const editSchema = z.strictObject({ path: pathSchema, to: editKindSchema })
export type Edit = z.infer<typeof editSchema>

/** Whom a checkpoint asks, and what of the call they may change. */
export const checkpointAskSchema = askSchema.extend({
  edit: z.array(editSchema).min(1).max(LIMITS.editsPerAsk).optional(),
})
export type CheckpointAsk = z.infer<typeof checkpointAskSchema>
