import { type CaptureItem, captureItemSchema, type JsonValue, LIMITS, ROUTES } from '@countersign/protocol'
import { sha256 } from '../base/crypto/secrets.js'
import { checked, faultsOf, REFUSED, readJson, shaped } from '../context/json-body.js'
import type { OfferedTool, ReadCaptures } from '../context/tasks.js'
import { captureTexts } from '../store/captures/captures.js'
import { offeredIn, stripCapture } from './strip-capture.js'

type Rejected = ReadCaptures['rejected'][number]

/**
 * What a body with captures says, as it will be stored. Items are checked one by one: a bad one is named, and the rest is
 * stored. What comes out is mostly text that need not be parsed.
 */
export function readCaptures({
  body,
  tenantId,
}: {
  readonly body: Uint8Array
  readonly tenantId: string
}): ReadCaptures {
  const route = ROUTES.ingestCaptures
  const { captures } = checked(route.body, readJson(body, route), 'body') as { captures: JsonValue[] }
  const items = new Map<string, CaptureItem>()
  const rejected: Rejected[] = []
  let repeated = 0
  captures.forEach((raw, index) => {
    const read = readItem(raw)
    if (!read.ok) rejected.push({ index, capture_id: idOf(raw), ...read.problem })
    else if (items.has(read.item.capture_id)) repeated++
    else items.set(read.item.capture_id, read.item)
  })
  const good = [...items.values()]
  return {
    accepted: good.length,
    repeated,
    rejected,
    agents: [...new Set(good.map(({ agent }) => agent))],
    texts: captureTexts(good.map(stripCapture)),
    offered: offeredIn(good).slice(0, MAX_OFFERED).map(offeredTool(tenantId)),
  }
}

/** Tools of one body that are remembered: what eight agents may offer with one request. */
const MAX_OFFERED = 8 * LIMITS.toolsPerPreflight

type ReadItem = { ok: true; item: CaptureItem } | { ok: false; problem: Pick<Rejected, 'code' | 'message'> }

function readItem(raw: JsonValue): ReadItem {
  const read = shaped(captureItemSchema, raw)
  if (read === REFUSED) {
    const [fault] = faultsOf(captureItemSchema, raw)
    return refuse('INVALID_CAPTURE', `${fault?.path.join('.') || 'item'}: ${fault?.message ?? 'not a capture'}`)
  }
  const item = read as CaptureItem
  const large = item.response.tool_calls.find(
    (call) => Buffer.byteLength(call.arguments ?? '') > LIMITS.argumentBytesPerCall,
  )
  if (large !== undefined)
    return refuse('TOO_LARGE', `arguments of a call are above ${LIMITS.argumentBytesPerCall} bytes`)
  return { ok: true, item }
}

const refuse = (code: Rejected['code'], message: string): ReadItem => ({
  ok: false,
  problem: { code, message: message.slice(0, 500) },
})

function idOf(raw: JsonValue): string | null {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return null
  const { capture_id } = raw
  return typeof capture_id === 'string' ? capture_id.slice(0, LIMITS.idLength) : null
}

/** Remembered by hashes, because names and schemas may be long. */
const offeredTool =
  (tenantId: string) =>
  (tool: ReturnType<typeof offeredIn>[number]): OfferedTool => ({
    key: hashOf([tenantId, tool.agent, tool.tool_name]),
    schemaHash: tool.schema === null ? null : hashOf(tool.schema),
    row: JSON.stringify(tool),
  })

const hashOf = (value: unknown) => sha256(JSON.stringify(value)).toString('base64')
