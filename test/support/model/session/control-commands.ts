import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { expect } from 'vitest'
import { LOOKUP, reserve } from '../../runtime/governed-session.js'
import { exportOf } from '../../runtime/ledger-export.js'
import { checkSession } from '../session-checker.js'
import { command, type Real, refusalOf, waiting } from './model.js'
import { off } from './turn-commands.js'

const paramsOf = ({ clients }: Real) => ({ session_id: clients[0].sessionId })
const apiOf = ({ clients }: Real, client: number) => (clients[client] ?? clients[0]).api

export const labels = fc
  .record({ client: fc.nat(1), label: fc.constantFrom('a', 'b', 'untrusted_input', 'not a label') })
  .map(({ client, label }) =>
    command(`label ${label}`, async (model, real) => {
      const answer = await apiOf(real, client).addLabel({ params: paramsOf(real), body: { label } })
      const isNew = !model.labels.has(label)
      const expected = label.includes(' ') ? 'INVALID_REQUEST' : isNew ? refusalOf(model, model.fence) : null
      expect(answer.status === 200 ? null : answer.problem.code).toBe(expected)
      if (expected !== null) return
      if (isNew) {
        model.labels.add(label)
        model.control += 1
        model.justRecovered = false
      }
      expect(answer.body.labels).toEqual([...model.labels])
    }),
  )

export const filters = fc
  .record({
    client: fc.nat(1),
    tools: fc.constantFrom<string[] | null>(null, null, ['reserve'], ['send_mail'], ['lookup_order', 'reserve']),
    fenceOff: off(),
  })
  .map(({ client, tools, fenceOff }) =>
    command(`filter ${JSON.stringify(tools)}`, async (model, real) => {
      const fence = model.fence + fenceOff
      const answer = await apiOf(real, client).setToolFilter({ params: paramsOf(real), body: { fence, tools } })
      const expected = refusalOf(model, fence)
      expect(answer.status === 200 ? null : answer.problem.code).toBe(expected)
      if (expected !== null) return
      if (JSON.stringify(tools) !== JSON.stringify(model.filter)) {
        model.filter = tools
        model.control += 1
        model.justRecovered = false
      }
      expect(answer.body.control_revision).toBe(model.control)
    }),
  )

export const recoveries = fc
  .record({ client: fc.nat(1), holder: fc.constantFrom('holder-1', 'holder-2'), takeover: fc.boolean() })
  .map(({ client, holder, takeover }) =>
    command(`recover ${holder} ${takeover}`, async (model, real) => {
      const body = { holder_id: holder, takeover }
      const answer = await apiOf(real, client).recoverSession({ params: paramsOf(real), body })
      const isStopped = model.status === 'KILLED' || model.status === 'COMPROMISED'
      const isRepeated = model.justRecovered && model.holder === holder
      const isHeld = waiting(model).length > 0 && !takeover
      const expected = isStopped ? 'NOT_RECOVERABLE' : !isRepeated && isHeld ? 'LEASE_ACTIVE' : null
      expect(answer.status === 200 ? null : answer.problem.code).toBe(expected)
      if (expected !== null) return
      if (!isRepeated) {
        model.fence += 1
        model.control += 1
        model.holder = holder
        model.current = null
        model.justRecovered = true
        model.status = waiting(model).length > 0 ? 'RECOVERING' : 'ACTIVE'
      }
      expect(answer.body).toMatchObject({ fence: model.fence, session: { status: model.status } })
      for (const session of real.clients) session.fence = model.fence
    }),
  )

export const stops = fc.record({ client: fc.nat(1), kind: fc.constantFrom('kill', 'bypass') }).map(({ client, kind }) =>
  command(kind, async (model, real) => {
    const api = apiOf(real, client)
    const given = { params: paramsOf(real), body: {} }
    const answer = kind === 'kill' ? await api.killSession(given) : await api.reportBypass(given)
    expect(answer.status).toBe(200)
    const before = model.status
    if (kind === 'kill') model.status = 'KILLED'
    else if (before !== 'KILLED') model.status = 'COMPROMISED'
    if (model.status !== before) {
      model.control += 1
      model.justRecovered = false
    }
    expect(answer.body).toMatchObject({ status: model.status, control_revision: model.control })
  }),
)

export const creates = fc
  .record({ client: fc.nat(1), holder: fc.constantFrom('holder-1', 'holder-2'), other: fc.boolean() })
  .map(({ client, holder, other }) =>
    command(`create ${holder} ${other}`, async (model, real) => {
      const { plan, sessionId } = real.clients[0]
      const body = { session_id: sessionId, holder_id: holder, ...plan, ...(other ? { agent: 'x' } : {}) }
      const answer = await apiOf(real, client).createSession({ body })
      const isFirstBody = !other && holder === 'holder-1'
      const expected = holder !== model.holder ? 'SESSION_HELD' : isFirstBody ? null : 'SESSION_EXISTS'
      expect(answer.status === 201 ? null : answer.problem.code).toBe(expected)
      if (expected === null) expect(answer.body.session).toMatchObject({ status: model.status, fence: model.fence })
    }),
  )

export const loads = fc.nat(1).map((client) =>
  command('load and check', async (model, real) => {
    const api = apiOf(real, client)
    const { body } = await api.loadSession({ params: paramsOf(real), query: { include: 'pending' } })
    expect(body.session).toMatchObject({
      status: model.status,
      state_version: model.version,
      control_revision: model.control,
      fence: model.fence,
      tool_filter: model.filter,
      labels: [...model.labels],
    })
    const pending = waiting(model).map(({ decision }) => decision.pending_call_id)
    expect(body.pending?.map((call) => call.pending_call_id)).toEqual(pending)
    const { sessionId } = real.clients[0]
    expect(await checkSession(real.runtime.sql, sessionId, await exportOf(api, sessionId))).toEqual([])
  }),
)

/** Many at once through both servers. What wins is not predicted; what must hold always is checked, and it ends the run. */
export const bursts = fc.array(fc.nat(6), { minLength: 4, maxLength: 16 }).map((kinds) =>
  command(`burst ${kinds.join('')}`, async (model, real) => {
    const params = paramsOf(real)
    const id = randomUUID()
    await real.clients[0].preflight({ prepared_request_id: id })
    const started = kinds.map((kind, index) => {
      const session = real.clients[index % 2] ?? real.clients[0]
      const { api } = session
      const pending = waiting(model)[0]?.decision.pending_call_id ?? 'call-unknown'
      const receipt = {
        pending_call_id: pending,
        outcome: 'unknown',
        evidence_level: 'reported',
        argument_hash: 'e'.repeat(64),
      } as const
      switch (kind) {
        case 0:
          return session.preflight()
        case 1:
          return session.propose(id, [reserve(50)])
        case 2:
          return session.propose(id, [LOOKUP], { gate: 'strip_partial' })
        case 3:
          return api.addLabel({ params, body: { label: `burst-${index}` } })
        case 4:
          return session.receipts([receipt])
        case 5:
          return api.recoverSession({ params, body: { holder_id: `holder-${index}`, takeover: true } })
        default:
          return index % 8 === 0 ? api.killSession({ params, body: {} }) : session.load().then(() => null)
      }
    })
    for (const answer of await Promise.all(started)) if (answer !== null) expect(answer.status).toBeLessThan(500)
    const { sessionId } = real.clients[0]
    const exported = await exportOf(real.clients[0].api, sessionId)
    expect(await checkSession(real.runtime.sql, sessionId, exported)).toEqual([])
    throw new EndOfRun()
  }),
)

/** After a burst the model knows no more than the checker; the run is over and was good. */
export class EndOfRun extends Error {}
