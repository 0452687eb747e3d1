import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { canonicalJson, verifyExport } from '@countersign/engine'
import type { JsonValue, LedgerExport } from '@countersign/protocol'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { verify } from '../../../packages/cli/src/commands/verify.js'
import { Unreadable, UsageError } from '../../../packages/cli/src/terminal/command.js'
import { errorText, isUsage } from '../../../packages/cli/src/terminal/error-text.js'
import { eraseContent } from '../../../packages/server/src/store/sessions/content.js'
import { proves } from '../../support/proves.js'
import {
  type GovernedSession,
  LOOKUP,
  openSession,
  receiptFor,
  refund,
  reserve,
} from '../../support/runtime/governed-session.js'
import { exportOf } from '../../support/runtime/ledger-export.js'
import { planOf } from '../../support/runtime/plans.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

let folder: string
const { runtime, api } = await withRuntime()
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countersign-ledger-'))
})
afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

/** A session in which everything has happened once. */
async function eventful(): Promise<GovernedSession> {
  const session = await openSession(api, {
    capture_level: 'full',
    labels: ['vip'],
    principal: { id: 'ann-the-principal' },
  })
  const params = { session_id: session.sessionId }
  await session.turn([LOOKUP])
  await session.decide([refund(900.123)])
  const { decisions } = await session.decide([refund(20), reserve(5, 'r')])
  await api.addLabel({ params, body: { label: 'seen' } })
  await session.receipts([receiptFor(decisions[0]!)])
  const recovered = await api.recoverSession({ params, body: { holder_id: 'b', takeover: true } })
  await session.receipts([receiptFor(decisions[1]!)], 1)
  session.fence = recovered.body.fence
  await session.receipts([receiptFor(decisions[1]!, { outcome: 'unknown' })])
  await api.setToolFilter({ params, body: { fence: session.fence, tools: ['send_mail'] } })
  await api.reportBypass({ params, body: { method: 'create' } })
  await api.killSession({ params, body: {} })
  return session
}

describe('the export', () => {
  proves(
    'guarantee.ledger-folds',
    'is chained without a gap, folds to the stored state and names the head that the last write answered',
    async () => {
      const session = await eventful()
      const exported = await exportOf(api, session.sessionId)
      expect(exported.events.map(({ seq }) => seq)).toEqual(exported.events.map((_, index) => index + 1))
      expect(exported.events.map(({ type }) => type)).toEqual([
        'created',
        'proposal',
        'receipts',
        'proposal',
        'proposal',
        'label',
        'receipts',
        'recovered',
        'receipts',
        'receipts',
        'tool_filter',
        'bypass',
        'killed',
      ])
      expect(verifyExport(exported)).toEqual({ ok: true, head: exported.head })
      expect((await session.load()).ledger).toEqual(exported.head)
    },
  )

  test('comes in pages that join to the whole', async () => {
    const session = await eventful()
    const whole = await exportOf(api, session.sessionId)
    expect(await exportOf(api, session.sessionId, 4)).toEqual(whole)
  })

  proves('guarantee.no-content', 'holds no content: no arguments, no principal, no values found', async () => {
    const session = await eventful()
    const { events } = await exportOf(api, session.sessionId)
    const text = JSON.stringify(events)
    for (const secret of ['"A-1"', 'ann-the-principal', '900.123']) expect(text).not.toContain(secret)
  })

  proves('guarantee.erasable', 'verifies after its content was erased', async () => {
    const session = await eventful()
    const [stored] = await runtime.sql`select count(*) from content where session_id = ${session.sessionId}`
    expect(stored?.count).toBeGreaterThan(0)
    await runtime.sql.begin((tx) => eraseContent(tx, runtime.tenantId, session.sessionId))
    const rows = await runtime.sql`select 1 from content where session_id = ${session.sessionId}`
    expect(rows).toHaveLength(0)
    expect(verifyExport(await exportOf(api, session.sessionId)).ok).toBe(true)
  })
})

describe('countersign verify', () => {
  const said: string[] = []
  const run = async (args: string[]) => {
    said.length = 0
    const code = await verify.run(args, { print: (line) => said.push(line), note: () => {} })
    return { code, said: said.join('\n') }
  }
  const online = async () => ['--url', await runtime.instances[0].listen(), '--key', runtime.key]

  test('reads a session from the service, says that it holds, and saves what it read', async () => {
    const session = await eventful()
    const file = join(folder, `${session.sessionId}.json`)
    expect(await run([session.sessionId, ...(await online()), '--save', file])).toEqual({
      code: 0,
      said: expect.stringMatching(
        /: 13 events are intact; head 13:[0-9a-f]{64}\nnot signed: no head of this ledger was signed yet/,
      ),
    })
    expect(await run([file])).toMatchObject({ code: 0 })
  })

  proves('cli.consistent', 'takes address and key from the environment, like the other commands', async () => {
    const { sessionId } = await openSession(api)
    vi.stubEnv('COUNTERSIGN_API_KEY', runtime.key)
    vi.stubEnv('COUNTERSIGN_API_URL', await runtime.instances[0].listen())
    expect(await run([sessionId])).toMatchObject({ code: 0 })
    vi.unstubAllEnvs()
    await expect(run([sessionId])).rejects.toThrow('cannot be read')
  })

  test('takes the key from the environment, and no address without http', async () => {
    const { sessionId } = await openSession(api)
    vi.stubEnv('COUNTERSIGN_API_KEY', runtime.key)
    const url = await runtime.instances[0].listen()
    expect(await run([sessionId, '--url', url])).toMatchObject({ code: 0 })
    await expect(run([sessionId, '--url', 'localhost:4319'])).rejects.toThrow(
      '--url must be an address such as http://',
    )
    vi.unstubAllEnvs()
  })

  test('a head that was recorded earlier still lies in the chain; a ledger cut short of it does not pass', async () => {
    const session = await openSession(api)
    const early = session.created.ledger
    await session.turn([LOOKUP])
    const exported = await exportOf(api, session.sessionId)
    const file = await saved(exported)
    const head = ({ seq, hash }: { seq: number; hash: string }) => ['--head', `${seq}:${hash}`]
    expect(await run([file, ...head(early)])).toMatchObject({ code: 0 })
    expect(await run([file, ...head(exported.head)])).toMatchObject({ code: 0 })
    expect(await run([file, ...head({ seq: 4, hash: 'f'.repeat(64) })])).toMatchObject({
      code: 1,
      said: expect.stringContaining('broken at event 4'),
    })
    expect(await run([file, ...head({ seq: 1, hash: 'f'.repeat(64) })])).toMatchObject({ code: 1 })
  })

  const FORGERIES: Record<string, { seq: number; forge: (exported: LedgerExport) => void }> = {
    'a fact in an event is changed': {
      seq: 3,
      forge: ({ events }) => Object.assign(events[2]!.body, { committed: false }),
    },
    'the time of an event is changed': {
      seq: 2,
      forge: ({ events }) => Object.assign(events[1]!, { at: '2020-01-01T00:00:00.000Z' }),
    },
    'an event is left out': { seq: 2, forge: ({ events }) => events.splice(1, 1) },
    'two events change places': { seq: 2, forge: ({ events }) => events.splice(1, 2, events[2]!, events[1]!) },
    'the type of an event is none that there is': {
      seq: 2,
      forge: ({ events }) => Object.assign(events[1]!, { type: 'nothing' }),
    },
    'an event has another member': { seq: 3, forge: ({ events }) => Object.assign(events[2]!, { more: 1 }) },
    'the export is named after another session': {
      seq: 1,
      forge: (exported) => Object.assign(exported, { session_id: 's' }),
    },
    'the stored state is left out': { seq: 3, forge: (exported) => Object.assign(exported, { state: null }) },
    'the last event is cut off': { seq: 3, forge: ({ events }) => events.pop() },
    'the stored state is changed': {
      seq: 3,
      forge: ({ state }) => Object.assign(state as object, { stateVersion: 9 }),
    },
    'the plan is changed': {
      seq: 3,
      forge: ({ compiled_session }) => Object.assign(compiled_session!.session, { agent: 'x' }),
    },
  }
  test.each(Object.entries(FORGERIES))('%s: the first broken event is named', async (_name, { seq, forge }) => {
    const session = await openSession(api)
    await session.turn([LOOKUP])
    const exported = await exportOf(api, session.sessionId)
    forge(exported)
    expect(await run([await saved(exported)])).toMatchObject({
      code: 1,
      said: expect.stringContaining(`broken at event ${seq}:`),
    })
  })

  test('a plan without a value that goes without saying is not the plan that was hashed', async () => {
    const plan = planOf([{ tool: 'look', sources: [{ path: '$.id', from: ['user'] }] } as never])
    const exported = await exportOf(api, (await openSession(api, { plan })).sessionId)
    expect(await run([await saved(exported)])).toMatchObject({ code: 0 })
    const rule: { otherwise?: string } = exported.compiled_session!.contracts[0]!.sources![0]!
    delete rule.otherwise
    expect(await run([await saved(exported)])).toMatchObject({ code: 1, said: expect.stringContaining('the plan') })
  })

  const MARKS: Record<string, [find: string, put: string]> = {
    'a member stands twice': ['"outcome":"allowed"', '"outcome":"blocked","outcome":"allowed"'],
    'a member is named __proto__': ['"outcome":"allowed"', '"__proto__":{"outcome":"blocked"},"outcome":"allowed"'],
    'the state has a member __proto__': ['"used":{', '"used":{"__proto__":9,'],
    'a number is written that no double holds': ['"seq":1,', '"seq":1.00000000000000000001,'],
    'a string holds half a character': ['"holder_id":"', '"holder_id":"\\ud800'],
    'the nesting is endless': ['"state":{', `"state":{"x":${'['.repeat(5_000)}${']'.repeat(5_000)},`],
    'it is not UTF-8': ['"holder_id":"', '"holder_id":"\u00ff'],
  }
  test.each(Object.entries(MARKS))(
    'what one reader would see and another not is no proof: %s',
    async (_, [find, put]) => {
      const session = await openSession(api)
      await session.turn([LOOKUP])
      const text = JSON.stringify(await exportOf(api, session.sessionId))
      expect(text).toContain(find)
      const file = join(folder, `${session.sessionId}.json`)
      await writeFile(file, text.replace(find, put), put.endsWith('\u00ff') ? 'latin1' : 'utf8')
      const unreadable = (error: unknown) => (error instanceof Unreadable ? { code: 2 } : { code: errorText(error) })
      expect([1, 2]).toContain((await run([file]).catch(unreadable)).code)
    },
  )

  test('the ledger of a session whose model called a tool __proto__ holds', async () => {
    const session = await openSession(api, { unmatched_policy: 'allow' })
    const { body } = await session.preflight({ tools: [{ name: '__proto__' }] })
    const id = body.outcome === 'prepared' ? body.prepared_request_id : ''
    const proposed = await session.propose(id, [{ name: '__proto__', args: {} }])
    expect(proposed.body.outcome).toBe('allowed')
    const file = join(folder, `${session.sessionId}.json`)
    expect(await run([session.sessionId, ...(await online()), '--save', file])).toMatchObject({ code: 0 })
    expect(await run([file])).toMatchObject({ code: 0 })
  })

  test('a changed row in the database is found by the online check', async () => {
    const session = await openSession(api)
    await session.turn([LOOKUP])
    await runtime.sql`
      update session_events set body = jsonb_set(body::jsonb, '{committed}', 'false')::text
      where session_id = ${session.sessionId} and seq = 3`
    expect(await run([session.sessionId, ...(await online())])).toMatchObject({
      code: 1,
      said: expect.stringContaining('broken at event 3:'),
    })
  })

  test('an unknown key or session comes with a fix, and is not called wrong usage', async () => {
    const [, url = '', , key = ''] = await online()
    const trouble = (args: string[]) =>
      run(args).then(
        () => null,
        (error: unknown) => error,
      )
    const unknownKey = await trouble(['nobody', '--url', url, '--key', `csk_${'A'.repeat(32)}`])
    expect(unknownKey).toBeInstanceOf(Unreadable)
    expect(errorText(unknownKey)).toMatch(
      / answered 401: .*: check the API key \(apiKey, --key or COUNTERSIGN_API_KEY\)/,
    )
    const unknownSession = await trouble(['nobody', '--url', url, '--key', key])
    expect(unknownSession).toBeInstanceOf(Unreadable)
    expect(errorText(unknownSession)).toMatch(/ answered 404: .*no session nobody.*--workflow/)
    expect(errorText(await trouble(['--workflow', 'nobody', '--url', url, '--key', key]))).toMatch(/no workflow nobody/)
    const away = await trouble(['nobody', '--url', 'http://127.0.0.1:1', '--key', key])
    expect([isUsage(away), errorText(away)]).toEqual([false, expect.stringMatching(/cannot be reached.*--url/)])
    const paths = await trouble(['nobody', '--url', `${url}/docs`, '--key', key])
    expect(errorText(paths)).not.toContain('    at ')
  })

  test('a file that is missing or not an export has its own message; no file at all is wrong usage', async () => {
    const file = join(folder, 'other.json')
    await writeFile(file, '{"a":1}')
    await expect(run([file])).rejects.toThrow(/not an exported ledger/)
    await expect(run([join(folder, 'none.json')])).rejects.toThrow(Unreadable)
    await expect(run([])).rejects.toThrow(/expected one session id, workflow id or file/)
    await expect(run([])).rejects.toThrow(UsageError)
  })

  async function saved(exported: LedgerExport): Promise<string> {
    const file = join(folder, `${exported.session_id}-${Math.random()}.json`)
    await writeFile(file, JSON.stringify(exported))
    return file
  }
})

proves('guarantee.ledger-folds', 'the stored snapshot is the fold, byte for byte in canonical form', async () => {
  const session = await eventful()
  const [row] = await runtime.sql<
    { state: JsonValue }[]
  >`select (state::jsonb || jsonb_build_object('recent', recent::jsonb))::json as state from session_heads where session_id = ${session.sessionId}`
  const exported = await exportOf(api, session.sessionId)
  expect(canonicalJson(row!.state)).toBe(canonicalJson(exported.state as JsonValue))
})
