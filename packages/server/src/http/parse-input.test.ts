import { type JsonObject, type JsonValue, ROUTES, type RouteName } from '@countersign/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ApiError } from '../base/api-error.js'
import { parseInput } from './parse-input.js'

const HASH = 'a'.repeat(64)
const AT = '2026-01-01T00:00:00.000Z'

/** Bodies with every field of the three requests that every turn makes. */
const BODIES = {
  preflight: {
    prepared_request_id: 'req-1',
    fence: 1,
    state_version: 0,
    tools: [{ name: 'search' }, { name: 'refund', kind: 'custom' }],
    provider: 'openai',
    model: 'gpt-4o',
    request: { '$.messages': ['hello'] },
  },
  propose: {
    prepared_request_id: 'req-1',
    fence: 1,
    gate: 'strip_partial',
    response: { content: null, tool_calls: [{ id: 'c', name: 'refund', arguments: '{}' }] },
    model: 'gpt-4o',
    usage: { input_tokens: 900, output_tokens: 60 },
    flows: { calls: [{ call_id: 'c', tool: 'refund', leaves: [], prior_tools: ['search'], prior_calls: 1 }] },
  },
  submitReceipts: {
    fence: 1,
    receipts: [
      {
        pending_call_id: 'call_1',
        outcome: 'succeeded',
        evidence_level: 'executed',
        argument_hash: HASH,
        result_hash: HASH,
        started_at: AT,
        finished_at: AT,
        error_code: 'none',
        outputs: { '$.id': 'A-1' },
        result: { id: 'A-1' },
        approvals: [
          { checkpoint_id: 'c', decision: 'approve', decided_by: 'ann', decided_at: AT, argument_hash: HASH },
        ],
      },
    ],
  },
} as const satisfies Partial<Record<keyof typeof ROUTES, JsonValue>>

const parsed = (name: RouteName, body: unknown): unknown => {
  const sent = Buffer.from(JSON.stringify(body))
  try {
    return parseInput(ROUTES[name], { route: name, params: { session_id: 's' }, query: '', body: sent }).body
  } catch (error) {
    if (error instanceof ApiError) return error.extras.errors
    throw error
  }
}

/** What the shape itself says, without the code that is made from it. */
const said = (name: keyof typeof BODIES, body: unknown): unknown => {
  const result = ROUTES[name].body.safeParse(body)
  return result?.success
    ? result.data
    : result?.error.issues
        .slice(0, 20)
        .map(({ path, message }) => ({ path: ['body', ...path.map(String)].join('.'), message }))
}

test.each(Object.entries(BODIES))('%s: a body with every field is taken as its shape says', async (name, body) => {
  const route = name as keyof typeof BODIES
  expect(ROUTES[route].body.safeParse(body).success).toBe(true)
  expect(parsed(route, body)).toEqual(said(route, body))
})

const VALUES = [null, true, 0, -1, 1.5, '', 'refund', 'x'.repeat(300), AT, HASH, 'custom', [], [0], {}, { a: 1 }]

/** Takes away, adds or replaces something, somewhere in the body. */
const changed = (body: JsonValue) =>
  fc
    .tuple(fc.nat(), fc.constantFrom('remove', 'add', 'replace'), fc.constantFrom<JsonValue>(...VALUES))
    .map(([at, how, value]) => {
      const copy = structuredClone(body)
      const places = placesIn(copy)
      const [holder, key] = places[at % places.length] as Place
      if (how === 'replace') Object.assign(holder, { [key]: value })
      else if (how === 'add') Object.assign(holder, { [Array.isArray(holder) ? holder.length : 'surplus']: value })
      else if (Array.isArray(holder)) holder.splice(Number(key), 1)
      else delete holder[key]
      return copy
    })

type Place = [holder: JsonObject | JsonValue[], key: string]

function placesIn(value: JsonValue): Place[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, child]) => [[value, key] as Place, ...placesIn(child as JsonValue)])
}

test.each(Object.entries(BODIES))('%s: whatever is changed in it, the shape has the word', async (name, body) => {
  const route = name as keyof typeof BODIES
  await fc.assert(
    fc.asyncProperty(changed(body as unknown as JsonValue), async (other) => {
      expect(parsed(route, other)).toEqual(said(route, other))
    }),
    { numRuns: 300 },
  )
})
