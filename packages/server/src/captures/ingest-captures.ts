import {
  type CaptureItem,
  captureItemSchema,
  type Input,
  type JsonValue,
  LIMITS,
  type Reply,
  type Routes,
} from '@countersign/protocol'
import type { Context } from '../context/context.js'
import { inStatement } from '../context/work.js'
import { insertCaptures, storeOfferedTools } from '../store/captures/captures.js'
import { offeredIn, saltsOf, stripCapture } from './strip-capture.js'

type Rejected = Reply<Routes['ingestCaptures']>['rejected'][number]

/** Stores a batch of captures. Items are checked one by one: a bad one is named and the rest is stored. */
export async function ingestCaptures(
  ctx: Context,
  { body }: Input<Routes['ingestCaptures']>,
): Promise<Reply<Routes['ingestCaptures']>> {
  const items = new Map<string, CaptureItem>()
  const rejected: Rejected[] = []
  let repeated = 0
  const mayBeLarge = !(Number(ctx.request.http.header('content-length') ?? Number.NaN) <= MAX_ITEM_BYTES)
  body.captures.forEach((raw, index) => {
    const read = readItem(raw, mayBeLarge)
    if (!read.ok) rejected.push({ index, capture_id: idOf(raw), ...read.problem })
    else if (items.has(read.item.capture_id)) repeated++
    else items.set(read.item.capture_id, read.item)
  })
  const good = [...items.values()]
  if (good.length === 0) return { accepted: 0, duplicates: repeated, rejected }
  const salts = saltsOf(good, ctx.app.random)
  const accepted = await inStatement(ctx, (sql) =>
    insertCaptures(
      sql,
      ctx.tenant.tenantId,
      good.map((item) => stripCapture(item)),
      salts,
    ),
  )
  const memory = ctx.app.offeredTools
  const offered = memory.unknown(ctx.tenant.tenantId, offeredIn(good))
  if (offered.length > 0) {
    await inStatement(ctx, (sql) => storeOfferedTools(sql, ctx.tenant.tenantId, offered))
    memory.remember(ctx.tenant.tenantId, offered)
  }
  return { accepted, duplicates: repeated + good.length - accepted, rejected }
}

type ReadItem = { ok: true; item: CaptureItem } | { ok: false; problem: Pick<Rejected, 'code' | 'message'> }

/** Room for a full capture of a long conversation, and far below what a batch may hold. */
const MAX_ITEM_BYTES = LIMITS.bodyBytes

function readItem(raw: JsonValue, mayBeLarge: boolean): ReadItem {
  const read = captureItemSchema.safeParse(raw)
  if (!read.success) {
    const [issue] = read.error.issues
    return refuse('INVALID_CAPTURE', `${issue?.path.join('.') || 'item'}: ${issue?.message ?? 'not a capture'}`)
  }
  const large = read.data.response.tool_calls.find(
    (call) => byteLength(call.arguments ?? '') > LIMITS.argumentBytesPerCall,
  )
  if (large !== undefined)
    return refuse('TOO_LARGE', `arguments of a call are above ${LIMITS.argumentBytesPerCall} bytes`)
  if (mayBeLarge && byteLength(JSON.stringify(raw)) > MAX_ITEM_BYTES)
    return refuse('TOO_LARGE', `above ${MAX_ITEM_BYTES} bytes`)
  return { ok: true, item: read.data }
}

const refuse = (code: Rejected['code'], message: string): ReadItem => ({
  ok: false,
  problem: { code, message: message.slice(0, 500) },
})

const byteLength = (text: string): number => Buffer.byteLength(text)

function idOf(raw: JsonValue): string | null {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return null
  const { capture_id } = raw
  return typeof capture_id === 'string' ? capture_id.slice(0, LIMITS.idLength) : null
}
