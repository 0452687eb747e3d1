import type { Input, PlaygroundView, Routes } from '@countersign/protocol'
import type { UserContext } from '../context/context.js'
import { judgePlayground as judge } from '../packs/judge-playground.js'

/** Judges a pasted response against a pasted pack, and stores nothing of either. */
export const judgePlayground = (
  ctx: UserContext,
  { body }: Input<Routes['judgePlayground']>,
): Promise<PlaygroundView> => judge({ body, now: ctx.app.clock() })
