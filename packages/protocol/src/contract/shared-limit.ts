import { z } from 'zod'
import { toolNameSchema } from '../base/ids.js'
import { LIMITS } from '../base/limits.js'
import { CONDITIONAL, type Condition, nameSchema, pathSchema } from './condition.js'

const UNIT_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const

const WINDOW = /^([1-9][0-9]{0,5})([mhd])$/

/** How long a window such as `15m`, `24h` or `30d` is. NaN if it is not one. */
export function windowMs(text: string): number {
  const found = WINDOW.exec(text)
  return found === null ? Number.NaN : Number(found[1]) * UNIT_MS[found[2] as keyof typeof UNIT_MS]
}

const MOST_MS = LIMITS.sharedLimitWindowDays * UNIT_MS.d
const WINDOW_FORM = `expected a time such as 15m, 24h or 30d: at least 1m, at most ${LIMITS.sharedLimitWindowDays}d`

/** What a limit counts apart: each value of an argument, each principal, and so on. */
export const limitScopeSchema = z.union([
  z.enum(['principal', 'agent', 'workflow', 'tenant']),
  z.strictObject({ argument: pathSchema }),
])
export type LimitScope = z.infer<typeof limitScopeSchema>

interface WrittenLimit {
  readonly tool?: string | undefined
  readonly per: LimitScope
  readonly max_calls?: number | undefined
  readonly sum?: string | undefined
  readonly cost?: true | undefined
  readonly lte?: number | undefined
  readonly when?: readonly Condition[] | undefined
}

/** What keeps a limit from being one, as the first sentence that helps. */
function problemOf({ tool, per, max_calls, sum, cost, lte, when = [] }: WrittenLimit): string | null {
  const counted = [max_calls, sum, cost].filter((value) => value !== undefined).length
  if (counted === 0)
    return 'needs what it counts: `max_calls: 3`, `sum: $.amount` with `lte`, or `cost: true` with `lte`'
  if (counted > 1) return 'counts one thing: keep one of `max_calls`, `sum` and `cost`, and write a second limit'
  if (max_calls === undefined && lte === undefined) return 'needs a bound: add `lte`'
  if (max_calls !== undefined && lte !== undefined) return '`max_calls` is the bound: remove `lte`'
  const isAboutCalls = ({ path, key }: Condition) => path !== undefined || key !== undefined
  const readsArguments = sum !== undefined || typeof per === 'object' || when.some(isAboutCalls)
  if (cost === undefined) return readsArguments && tool === undefined ? 'reads arguments: name the `tool`' : null
  if (tool !== undefined) return 'the cost is that of model calls: remove `tool`'
  if (when.length > 0) return 'the cost is that of model calls: remove `when`'
  return typeof per === 'object' ? 'the cost is that of model calls, which have no arguments: use another `per`' : null
}

/** A limit over all sessions that share its key, within a rolling window. */
export const sharedLimitSchema = z
  .strictObject({
    name: nameSchema,
    tool: toolNameSchema.optional(),
    per: limitScopeSchema,
    max_calls: z.int().positive().max(1_000_000_000).optional(),
    /** The path of the amount in the arguments. */
    sum: pathSchema.optional(),
    /** What the model calls cost, by `pricing`. */
    cost: z.literal(true).optional(),
    lte: z.number().positive().optional(),
    window: z
      .string()
      .regex(WINDOW, { error: WINDOW_FORM, abort: true })
      .refine((text) => windowMs(text) <= MOST_MS, { error: WINDOW_FORM }),
    ...CONDITIONAL,
  })
  .superRefine((limit, context) => {
    const message = problemOf(limit)
    if (message !== null) context.addIssue({ code: 'custom', message })
  })
export type SharedLimit = z.infer<typeof sharedLimitSchema>
