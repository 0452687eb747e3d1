import type { ValueKind } from '@countersign/protocol'
import { type ObservedSession, requestsOf } from './calibrate.js'
import type { Count, FlowSummary, Witnesses } from './flow-summary.js'
import { forgetCall } from './forget.js'
import { getSampled, type Sample, type Sketch, sketchHash } from './sketch.js'
import type { ObservedCall, ToolSummary } from './summary.js'

/**
 * What was learned, as if some of the sessions had not been captured: they are no witnesses, and neither are requests
 * that only they had.
 */
export function leaveOut(
  summaries: readonly ToolSummary[],
  sessions: readonly ObservedSession[],
  left: ReadonlySet<string>,
): ToolSummary[] {
  if (left.size === 0) return [...summaries]
  const [gone, others] = [sessions.filter(({ id }) => left.has(id)), sessions.filter(({ id }) => !left.has(id))]
  const hashes = hashesOf(sessions, left)
  const isLeft = (hash: string) => !hashes.has(hash)
  const longest = { gone: longestTexts(gone), others: longestTexts(others) }
  return summaries.flatMap((summary) => {
    const rest = structuredClone(summary)
    const calls = gone.flatMap((session) => session.calls.filter(({ tool }) => tool === summary.tool))
    rest.samples -= calls.length
    if (calls.length > 0 && rest.samples <= 0 && others.every((session) => !isResultOf(session, summary.tool)))
      return []
    for (const call of calls) {
      countDown(rest, call)
      forgetCall(rest, { session: call.session, arguments: call.arguments })
    }
    rest.sessions = rest.sessions.filter(isLeft)
    rest.requests = rest.requests.filter(isLeft)
    for (const [, flow] of rest.flows.entries) leaveOutOfFlow(flow, isLeft)
    for (const [key, column] of rest.columns.entries) {
      const at = JSON.stringify([summary.tool, key])
      const [theirs, known] = [longest.gone.get(at), longest.others.get(at)]
      // The longest text is kept without its session: it is theirs if no other session had one as long.
      if (theirs !== undefined && column.longest === theirs && known !== theirs) column.longest = known ?? 0
      for (const kind of Object.keys(column.kinds) as ValueKind[]) {
        const witnesses = (column.kinds[kind] ?? []).filter(isLeft)
        if (witnesses.length === 0) delete column.kinds[kind]
        else column.kinds[kind] = witnesses
      }
    }
    return [rest]
  })
}

/** Takes back what `addCall` counts of the order of calls and of values that equal a result's. */
function countDown({ order, flows }: ToolSummary, { flow, failed }: ObservedCall): void {
  if (flow === null || failed === true) return
  if (flow.prior_calls === 0) {
    order.firsts--
    for (const tool of new Set(flow.prior_tools)) lower(getSampled(order.after, tool))
  }
  for (const { path, sources } of flow.leaves) {
    const own = getSampled(flows, path)
    if (own === undefined) continue
    own.values--
    for (const source of sources) {
      if (source.seen === 'cell' && source.latest === true)
        lower(getSampled(own.equals, JSON.stringify([source.tool, source.path])))
    }
  }
}

function lower(count: Count | undefined): void {
  if (count !== undefined) count.count--
}

const isResultOf = ({ columns }: ObservedSession, tool: string): boolean =>
  columns.some((column) => column.tool === tool)

/** Of the sessions, and of the requests that no other session had, as sketches store them. */
function hashesOf(sessions: readonly ObservedSession[], left: ReadonlySet<string>): Set<string> {
  const groups = requestsOf(sessions)
  const usual = new Set(sessions.filter(({ id }) => !left.has(id)).map(({ id }) => groups.get(id)))
  const hashes = new Set<string>()
  for (const { id, request } of sessions) {
    if (!left.has(id)) continue
    hashes.add(sketchHash(id))
    if (!usual.has(groups.get(id))) hashes.add(sketchHash(request ?? id))
  }
  return hashes
}

function leaveOutOfFlow(flow: FlowSummary, isLeft: (hash: string) => boolean): void {
  const kept = (sketch: Sketch): Sketch => sketch.filter(isLeft)
  flow.sessions = kept(flow.sessions)
  flow.requests = kept(flow.requests)
  flow.composed = kept(flow.composed)
  flow.invented = kept(flow.invented)
  const keepWitnesses = (sample: Sample<Witnesses>): void => {
    sample.entries = sample.entries
      .map(([key, { sessions, requests }]): [string, Witnesses] => [
        key,
        { sessions: kept(sessions), requests: kept(requests) },
      ])
      .filter(([, { sessions }]) => sessions.length > 0)
  }
  for (const sample of [flow.dictated, flow.quoted, flow.origins, flow.tokenOrigins]) keepWitnesses(sample)
  for (const [, places] of flow.known.entries) keepWitnesses(places)
}

/** By tool and column, as summaries name it. */
function longestTexts(sessions: readonly ObservedSession[]): Map<string, number> {
  const longest = new Map<string, number>()
  for (const { columns } of sessions) {
    for (const { tool, place, path, longest: length } of columns) {
      if (length === undefined) continue
      const at = JSON.stringify([tool, `${place} ${path}`])
      longest.set(at, Math.max(longest.get(at) ?? 0, length))
    }
  }
  return longest
}
