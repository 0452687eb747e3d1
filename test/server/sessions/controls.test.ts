import { setTimeout as sleep } from 'node:timers/promises'
import { pathOf, ROUTES } from '@countersign/protocol'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { proves } from '../../support/proves.js'
import { attachSession, LOOKUP, openSession, refund, succeeded } from '../../support/runtime/governed-session.js'
import { routeRequest } from '../../support/runtime/runtime.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, api } = await withRuntime()

async function opened(given: Parameters<typeof openSession>[1] = {}) {
  const session = await openSession(api, given)
  return { session, params: { session_id: session.sessionId } }
}

describe('labels', () => {
  proves(
    ['endpoint.labels', 'endpoint.labels.request', 'endpoint.labels.response', 'control.labels', 'label.by-endpoint'],
    'a label is appended and the full list comes back',
    async () => {
      const { params } = await opened({ labels: ['first'] })
      const { status, body } = await api.addLabel({ params, body: { label: 'second' } })
      expect(status).toBe(200)
      expect(body.labels).toEqual(['first', 'second'])
    },
  )

  proves('endpoint.labels.duplicate', 'a label that is there already is no error and no event', async () => {
    const { params } = await opened({ labels: ['a'] })
    const { status, body } = await api.addLabel({ params, body: { label: 'a' } })
    expect([status, body.labels, body.ledger.seq]).toEqual([200, ['a'], 1])
    await api.addLabel({ params, body: { label: 'b' } })
    const older = await api.addLabel({ params, body: { label: 'a' } })
    expect([older.status, older.body.labels, older.body.ledger.seq]).toEqual([200, ['a', 'b'], 2])
  })

  proves(
    [
      'endpoint.labels.non-empty',
      'endpoint.labels.length',
      'endpoint.labels.characters',
      'limit.label-length',
      'error.invalid-label',
    ],
    'only 1 to 128 letters, digits, hyphens and underscores are a label',
    async () => {
      const { params, session } = await opened()
      for (const label of ['a', 'A-b_9', 'x'.repeat(128)]) {
        expect((await api.addLabel({ params, body: { label } })).status).toBe(200)
      }
      const bad = ['', 'x'.repeat(129), 'a b', 'é', 'a\n', '\u017f', '\u212a', 'a.b', 7, null, ['a'], {}]
      for (const label of bad) {
        const { status, problem } = await api.addLabel({ params, body: { label: label as string } })
        expect([label, status, problem.code]).toEqual([label, 400, 'INVALID_REQUEST'])
      }
      expect((await session.load()).session.labels).toHaveLength(3)
    },
  )

  test('the 129th label is 409 LABEL_LIMIT', async () => {
    const { params } = await opened({ labels: Array.from({ length: 128 }, (_, index) => `l${index}`) })
    expect((await api.addLabel({ params, body: { label: 'one-more' } })).problem.code).toBe('LABEL_LIMIT')
  })

  proves(
    ['label.never-removed', 'endpoint.no-label-removal'],
    'no route takes a label away, and no later operation loses one',
    async () => {
      const { params, session } = await opened({ labels: ['tainted'] })
      for (const method of ['DELETE', 'PUT', 'PATCH']) {
        const request = routeRequest('addLabel', { key: runtime.key, params })
        const response = await runtime.fetch(new Request(request.url, { method, headers: request.headers }))
        expect([404, 405]).toContain(response.status)
      }
      await session.turn([LOOKUP])
      await api.addLabel({ params, body: { label: 'seen' } })
      await api.addLabel({ params, body: { label: 'tainted' } })
      await api.recoverSession({ params, body: { holder_id: 'other' } })
      await api.killSession({ params, body: {} })
      expect((await session.load()).session.labels).toEqual(['tainted', 'seen'])
    },
  )

  proves(
    'control.labels.held-by-server',
    'a client that forgot the label still meets it at the next preflight',
    async () => {
      const { params, session } = await opened()
      await api.addLabel({ params, body: { label: 'untrusted_input' } })
      const forgetful = attachSession(api, session)
      const { body } = await forgetful.preflight()
      expect(body.outcome === 'prepared' && body.allowed).not.toContain('issue_refund')
    },
  )

  test('a call whose contract adds a label leaves it on the session', async () => {
    const { session } = await opened()
    await session.turn([LOOKUP])
    expect(await session.turn([refund(5)])).toMatchObject({ labels: ['money_moved'] })
  })
})

describe('tool filter', () => {
  proves(
    ['endpoint.tool-filter', 'control.tool-filter'],
    'only the named tools may be used until it is lifted',
    async () => {
      const { params, session } = await opened()
      const set = await api.setToolFilter({ params, body: { fence: 1, tools: ['send_mail'] } })
      expect(set.body).toMatchObject({ tool_filter: ['send_mail'], control_revision: 1 })
      const { body } = await session.preflight()
      if (body.outcome !== 'prepared') throw new Error('blocked')
      expect(body.allowed).toEqual(['send_mail'])
      expect(body.removed).toContainEqual(expect.objectContaining({ tool: 'lookup_order', reason: 'manual_filter' }))
      const judged = await session.propose(body.prepared_request_id, [LOOKUP])
      expect(judged.body.decisions[0]?.reason).toBe('forbidden_tool')
      await api.setToolFilter({ params, body: { fence: 1, tools: null } })
      expect((await session.decide([LOOKUP])).outcome).toBe('allowed')
    },
  )

  test('setting it to what it is changes nothing', async () => {
    const { params } = await opened()
    const first = await api.setToolFilter({ params, body: { fence: 1, tools: ['a', 'b'] } })
    const again = await api.setToolFilter({ params, body: { fence: 1, tools: ['b', 'a', 'a'] } })
    expect(again.body).toEqual(first.body)
  })

  test('an old fence is 409 FENCE_STALE', async () => {
    const { params } = await opened()
    await api.recoverSession({ params, body: { holder_id: 'other' } })
    expect((await api.setToolFilter({ params, body: { fence: 1, tools: [] } })).problem.code).toBe('FENCE_STALE')
  })
})

describe('bypass', () => {
  proves(
    ['endpoint.report-bypass', 'control.bypass-report', 'state.bypass.writes-rejected'],
    'a reported bypass compromises the session: later authoritative writes are refused',
    async () => {
      const { params, session } = await opened()
      const { body } = await session.preflight()
      const report = await api.reportBypass({ params, body: { method: 'chat.completions.create' } })
      expect(report.body).toMatchObject({ status: 'COMPROMISED', killed: false })
      const id = body.outcome === 'prepared' ? body.prepared_request_id : ''
      const refusals = [
        await session.preflight(),
        await session.propose(id, [LOOKUP]),
        await api.setToolFilter({ params, body: { fence: 1, tools: null } }),
        await api.addLabel({ params, body: { label: 'x' } }),
      ]
      for (const { status, problem } of refusals) expect([status, problem.code]).toEqual([409, 'SESSION_COMPROMISED'])
      const recovery = await api.recoverSession({ params, body: { holder_id: 'b', takeover: true } })
      expect(recovery.problem.code).toBe('NOT_RECOVERABLE')
    },
  )

  test('reported again it changes nothing; a kill still goes through', async () => {
    const { params } = await opened()
    const first = await api.reportBypass({ params, body: {} })
    expect((await api.reportBypass({ params, body: {} })).body).toEqual(first.body)
    expect((await api.killSession({ params, body: {} })).body.status).toBe('KILLED')
    expect((await api.reportBypass({ params, body: {} })).body.status).toBe('KILLED')
  })
})

describe('kill', () => {
  proves(
    ['endpoint.kill', 'control.kill', 'state.kill.from-endpoint', 'control.kill.held-by-server'],
    'a killed session refuses every later write, whatever the client remembers',
    async () => {
      const { params, session } = await opened()
      const { body } = await session.preflight()
      const killed = await api.killSession({ params, body: { reason: 'enough' } })
      expect(killed.body).toMatchObject({ status: 'KILLED', killed: true })
      const id = body.outcome === 'prepared' ? body.prepared_request_id : ''
      const forgetful = attachSession(api, session)
      const refusals = [
        await forgetful.preflight(),
        await forgetful.propose(id, [LOOKUP]),
        await api.setToolFilter({ params, body: { fence: 1, tools: null } }),
        await api.addLabel({ params, body: { label: 'x' } }),
      ]
      for (const { status, problem } of refusals) expect([status, problem.code]).toEqual([409, 'SESSION_KILLED'])
      expect((await session.load()).session.state.killed).toBe(true)
    },
  )

  proves('endpoint.stops-need-nothing', 'as curl sends them, without a body or with one in a form', async () => {
    const { params } = await opened()
    const url = routeRequest('killSession', { key: runtime.key, params }).url
    const headers = { authorization: `Bearer ${runtime.key}` }
    const killed = await runtime.fetch(new Request(url, { method: 'POST', headers }))
    expect([killed.status, await killed.json()]).toMatchObject([200, { status: 'KILLED' }])
    const other = await opened()
    const form = { ...headers, 'content-type': 'application/x-www-form-urlencoded' }
    const report = routeRequest('reportBypass', { key: runtime.key, params: other.params }).url
    const reported = await runtime.fetch(new Request(report, { method: 'POST', headers: form, body: 'x=1' }))
    expect([reported.status, await reported.json()]).toMatchObject([200, { status: 'COMPROMISED' }])
  })

  test('killing again changes nothing', async () => {
    const { params } = await opened()
    const first = await api.killSession({ params, body: {} })
    expect((await api.killSession({ params, body: {} })).body).toEqual(first.body)
  })

  proves(
    'state.kill.quick',
    'a kill writes by one statement, and by a transaction where somebody holds the row',
    async () => {
      const { database } = runtime.instances[0].parts
      const transaction = vi.spyOn(database, 'transaction')
      onTestFinished(() => transaction.mockRestore())
      // Jobs have transactions, too; only a kill is so patient.
      const patient = () => transaction.mock.calls.filter(([, , options]) => options?.lockTimeoutMs === 10_000)
      const free = await opened()
      expect((await api.killSession({ params: free.params, body: { reason: 'now' } })).body.status).toBe('KILLED')
      expect(patient()).toEqual([])

      const held = await opened()
      let killed = false
      const killing = await runtime.sql.begin(async (tx) => {
        await tx`select 1 from sessions where session_id = ${held.session.sessionId} for update`
        const asked = api.killSession({ params: held.params, body: {} }).finally(() => {
          killed = true
        })
        // Longer than any other write waits for a row.
        await sleep(2_500)
        expect(killed).toBe(false)
        return { asked }
      })
      expect((await killing.asked).body.status).toBe('KILLED')
      expect(patient()).toHaveLength(1)
    },
  )

  proves('state.kill.irreversible', 'neither recover nor create nor a receipt brings it back', async () => {
    const { params, session } = await opened()
    const { decisions } = await session.decide([LOOKUP])
    await api.killSession({ params, body: {} })
    expect((await api.recoverSession({ params, body: { holder_id: 'b', takeover: true } })).problem.code).toBe(
      'NOT_RECOVERABLE',
    )
    await session.receipts(succeeded(decisions))
    const again = await api.createSession({
      body: { session_id: session.sessionId, holder_id: 'holder-1', ...session.plan },
    })
    expect(again.body.session.status).toBe('KILLED')
    expect((await session.load()).session).toMatchObject({ status: 'KILLED', state_version: 0 })
  })
})

proves(
  ['endpoint.no-checkpoint-approval', 'checkpoint.no-approval-endpoint'],
  'no route approves a proposal',
  async () => {
    const { params } = await opened()
    for (const path of ['approve', 'approvals', 'proposals/x/approve', 'proposals/approve', 'checkpoints/x/approve']) {
      const url = `http://127.0.0.1:4319${pathOf(ROUTES.loadSession, params)}/${path}`
      const headers = { authorization: `Bearer ${runtime.key}`, 'content-type': 'application/json' }
      const response = await runtime.fetch(new Request(url, { method: 'POST', headers, body: '{}' }))
      expect([404, 405]).toContain(response.status)
    }
  },
)
