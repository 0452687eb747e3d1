import type { Input, PlaygroundView, Routes } from '@countersign/protocol'
import type { UserContext } from '../context/context.js'
import { inPlanThread } from '../context/work.js'

/** Judges a pasted response against a pasted pack, and stores nothing of either. */
export const judgePlayground = (
  ctx: UserContext,
  { body }: Input<Routes['judgePlayground']>,
): Promise<PlaygroundView> => inPlanThread(ctx, 'judgePlayground', { body, now: ctx.app.clock() })
