import { compilePlan } from '@countersign/engine'
import { type JsonObject, type JsonValue, LIMITS, type RouteName } from '@countersign/protocol'
import { VALID_BODIES } from '../runtime/valid-bodies.js'
import { type Growth, grown, WAYS } from './grow.js'
import type { Family, Genes } from './request.js'
import { RICH_CONTRACTS, RICH_SESSION } from './rich-plan.js'

/** What a route is sent: a body that it takes, to be made larger and wrong. */
export interface RouteBody {
  readonly name: string
  readonly route: RouteName
  readonly body: JsonValue
  /** What comes before it in the same session. */
  readonly after?: 'createSession' | 'preflight'
  /** Makes the changed body one that is worth sending. */
  readonly finish?: (body: JsonValue) => JsonValue
}

const compiled = compilePlan({
  contracts: RICH_CONTRACTS.map((value) => ({ file: `${value.tool}.yaml`, value })),
  session: { file: 'session.yaml', value: RICH_SESSION },
})
if (!compiled.ok) throw new Error(`the rich plan does not compile: ${JSON.stringify(compiled.errors)}`)
export const RICH_PLAN = compiled.compiled_session as unknown as JsonObject

const WORKFLOW = {
  workflow_id: 'flow',
  role: 'lead',
  definition: {
    roles: { lead: { root: true, tools: ['look', 'refund'] }, helper: { tools: ['look'] } },
    handoffs: [{ from: 'lead', to: 'helper', tools: ['look'] }],
  },
}

const RESPONSE = {
  content: [
    { type: 'text', text: 'on it' },
    { type: 'tool_use', id: 'call_1', name: 'look', input: { order: 'A-1', rows: [{ id: 'a', amount: 3 }] } },
    { type: 'tool_use', id: 'call_2', name: 'refund', input: { order: 'A-1', amount: 20, note: 'sorry' } },
  ],
  stop_reason: 'tool_use',
}

/** Files of a pack: the session, and a contract each. */
function asPack(contracts: JsonValue): JsonObject {
  const list = (Array.isArray(contracts) ? contracts : [contracts]).slice(0, 511)
  const files = list.map((contract, at) => ({ file: `${at}.yaml`, text: JSON.stringify(contract).slice(0, 200_000) }))
  const session = { file: 'session.yaml', text: JSON.stringify(RICH_SESSION) }
  return { agent: 'desk', environment: 'staging', files: [session, ...files] }
}

const ofRoute = (route: RouteName, rest: Partial<RouteBody> = {}): RouteBody => ({
  name: route,
  route,
  body: VALID_BODIES[route] as JsonValue,
  ...rest,
})

export const ROUTE_BODIES: readonly RouteBody[] = [
  ofRoute('createSession', { body: { session_id: 's', holder_id: 'h', principal: 'p', compiled_session: RICH_PLAN } }),
  ofRoute('createSession', {
    name: 'createSession of a workflow',
    body: { session_id: 's', holder_id: 'h', principal: 'p', compiled_session: RICH_PLAN, workflow: WORKFLOW },
  }),
  ofRoute('preflight', { after: 'createSession' }),
  ofRoute('propose', { after: 'preflight', body: { response: RESPONSE } }),
  ofRoute('submitReceipts', { after: 'createSession' }),
  ofRoute('setToolFilter', { after: 'createSession' }),
  ofRoute('pinTools'),
  ofRoute('findSession'),
  ofRoute('ingestCaptures'),
  ofRoute('createRun'),
  ofRoute('diffPlan', { body: RICH_CONTRACTS as unknown as JsonValue, finish: asPack }),
]

const RANGES = {
  place: [0, 400],
  way: [0, WAYS.length - 1],
  size: [1, 200_000],
  place2: [0, 400],
  way2: [0, WAYS.length - 1],
  size2: [1, 2_000],
} as const

/** For a search: every route, and the numbers by which its body is changed. */
export const ROUTE_FAMILIES: readonly Omit<Family, 'build'>[] = ROUTE_BODIES.map(({ name }) => ({
  name,
  genes: RANGES,
}))

/** The body as it is. */
export const UNCHANGED: Genes = { size: 0, size2: 0 }

/** The body that these numbers make of a route's, as large as it may be at most. */
export function changedBody({ body, finish = (one) => one }: RouteBody, genes: Genes): JsonValue {
  const { place = 0, way = 0, size = 0, place2 = 0, way2 = 0, size2 = 0 } = genes
  const most = LIMITS.bodyBytes
  const make = (share: number) => {
    const growths: Growth[] = [
      { place: place2, way: way2, size: size2 },
      { place, way, size: Math.ceil(size * share) },
    ]
    return finish(grown(body, growths))
  }
  let share = 1
  for (let tries = 0; tries < 6; tries++) {
    const made = make(share)
    const bytes = bytesOf(made)
    if (bytes <= most) return made
    share *= (0.95 * most) / bytes
  }
  return body
}

/** More than a text can hold counts as that. */
function bytesOf(body: JsonValue): number {
  try {
    return Buffer.byteLength(JSON.stringify(body))
  } catch {
    return 2 ** 29
  }
}
