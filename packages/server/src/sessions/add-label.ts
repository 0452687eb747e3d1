import type { Input, Reply, Routes } from '@countersign/protocol'
import type { Context } from '../context/context.js'
import { appendLabel } from './append-label.js'

/** Appends a label, for good. A label that is there already is no error and changes nothing. */
export async function addLabel(
  ctx: Context,
  { params, body }: Input<Routes['addLabel']>,
): Promise<Reply<Routes['addLabel']>> {
  return appendLabel(ctx, { sessionId: params.session_id, label: body.label, byPerson: false })
}
