import { beforeAll, describe, expect, test } from 'vitest'
import { agent } from '../../../packages/cli/src/commands/agent.js'
import { session } from '../../../packages/cli/src/commands/session.js'
import { type Command, UsageError } from '../../../packages/cli/src/terminal/command.js'
import { proves } from '../../support/proves.js'
import { openSession } from '../../support/runtime/governed-session.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, api } = await withRuntime()
let service: string[]
beforeAll(async () => {
  service = ['--url', await runtime.instances[0].listen(), '--key', runtime.key]
})

async function execute(command: Command, ...args: string[]) {
  const printed: string[] = []
  const noted: string[] = []
  const code = await command.run([...args, ...service], {
    print: (line) => printed.push(line),
    note: (line) => noted.push(line),
  })
  return { code, printed: printed.join('\n'), noted: noted.join('\n') }
}

const opened = async (name: string, count: number) =>
  (await Promise.all(Array.from({ length: count }, () => openSession(api, { agent: name })))).map(
    ({ sessionId }) => sessionId,
  )
const statusOf = async (session_id: string) => (await api.loadSession({ params: { session_id } })).body.session.status
/** As if nobody had held them for two days. */
const abandon = (ids: readonly string[]) => runtime.sql`
  update session_heads set lease_until = statement_timestamp() - interval '2 days' where session_id = any (${[...ids]})`

describe('countersign agent stop', () => {
  proves(
    ['endpoint.agent-stop', 'cli.agent-stop'],
    'kills every running session of an agent, and no other',
    async () => {
      const mine = await opened('payer', 105)
      const [other = ''] = await opened('reader', 1)
      const { code, printed, noted } = await execute(agent, 'stop', 'payer', '--reason', 'it pays strangers')
      expect([code, printed, noted]).toEqual([0, 'killed 105 sessions of payer', ''])
      expect(new Set(await Promise.all(mine.map(statusOf)))).toEqual(new Set(['KILLED']))
      expect(await statusOf(other)).toBe('ACTIVE')
      expect(await execute(agent, 'stop', 'payer')).toEqual({
        code: 0,
        printed: 'killed 0 sessions of payer',
        noted: '',
      })
    },
  )

  proves(
    ['endpoint.agent-stop', 'cli.agent-stop'],
    'an agent that nobody knows is an error with similar names',
    async () => {
      await Promise.all([opened('biller', 1), opened('billers', 1)])
      expect(await execute(agent, 'stop', 'BILER')).toEqual({
        code: 1,
        printed: '',
        noted: 'error no agent named BILER is known: did you mean biller, billers?',
      })
      expect(await execute(agent, 'stop', 'unlike-any')).toMatchObject({
        code: 1,
        noted: 'error no agent named unlike-any is known: countersign session list shows names',
      })
      const { printed } = await execute(agent, 'stop', 'biler', '--json')
      expect(JSON.parse(printed)).toMatchObject({ killed: [], similar: ['biller', 'billers'] })
    },
  )

  test('sessions that nobody has held for a day only with --all', async () => {
    const [old = '', held = ''] = await opened('idler', 2)
    await abandon([old])
    const { code, printed, noted } = await execute(agent, 'stop', 'idler')
    expect([code, printed]).toEqual([0, 'killed 1 session of idler'])
    expect(noted).toBe('1 without a holder for a day were left as they are: --all kills them')
    expect([await statusOf(old), await statusOf(held)]).toEqual(['ACTIVE', 'KILLED'])
    const json = JSON.parse((await execute(agent, 'stop', 'idler', '--all', '--json')).printed)
    expect(json).toEqual({ agent: 'idler', killed: [old], failed: [], idle: 0, similar: null, error: null })
  })

  proves(
    ['endpoint.agent-stop', 'cli.agent-stop'],
    'one that cannot be written is named, and the others are killed',
    async () => {
      const [stuck = '', free = ''] = await opened('stuck', 2)
      await runtime.sql.unsafe(`
      create function hold_row() returns trigger language plpgsql as
        $$ begin if new.session_id = '${stuck}' then raise exception 'held' using errcode = 'lock_not_available'; end if; return new; end $$;
      create trigger hold_row before update on session_heads for each row execute function hold_row()`)
      const { code, printed, noted } = await execute(agent, 'stop', 'stuck')
      await runtime.sql.unsafe('drop trigger hold_row on session_heads; drop function hold_row()')
      expect([code, printed]).toEqual([1, 'killed 1 session of stuck'])
      expect(noted).toContain(`error ${stuck} could not be killed: `)
      expect([await statusOf(stuck), await statusOf(free)]).toEqual(['ACTIVE', 'KILLED'])
    },
  )

  // Long, because a kill waits ten seconds for a lock.
  test.runIf(process.env.COUNTERSIGN_TEST_ROUNDS === 'long')(
    'one that cannot be killed is named, and the others are killed',
    async () => {
      const [stuck = '', free = ''] = await opened('stubborn', 2)
      const { code, printed, noted } = await runtime.sql.begin(async (tx) => {
        await tx`set local idle_in_transaction_session_timeout = 0`
        await tx`select 1 from session_heads where session_id = ${stuck} for update`
        return execute(agent, 'stop', 'stubborn')
      })
      expect([code, printed]).toEqual([1, 'killed 1 session of stubborn'])
      expect(noted).toMatch(new RegExp(`error ${stuck} could not be killed: .*\nrun the command again`))
      expect([await statusOf(stuck), await statusOf(free)]).toEqual(['ACTIVE', 'KILLED'])
      expect((await execute(agent, 'stop', 'stubborn')).code).toBe(0)
      expect(await statusOf(stuck)).toBe('KILLED')
    },
  )

  test('a server that is not there, or a wrong key, is an error', async () => {
    const quiet = { print: () => {}, note: () => {} }
    const url = ['--url', 'http://127.0.0.1:9']
    expect(await agent.run(['stop', 'payer', ...url, '--key', 'x'], quiet)).toBe(1)
    expect(await session.run(['list', ...url, '--key', 'x'], quiet)).toBe(1)
    expect(await agent.run(['stop', 'payer', '--url', service[1] ?? '', '--key', 'x'], quiet)).toBe(1)
  })

  test.each([
    [[]],
    [['stop']],
    [['start', 'a']],
    [['stop', 'a', 'b']],
    [['stop', '']],
    [['stop', 'a', '--reason', 'x'.repeat(501)]],
  ])('wrong usage: %j', async (args) => {
    await expect(execute(agent, ...args)).rejects.toThrow(UsageError)
  })
})

describe('countersign session', () => {
  proves(['endpoint.session-list', 'cli.session'], 'lists, shows and kills', async () => {
    const [first = '', second = ''] = [...(await opened('lister', 1)), ...(await opened('lister', 1))]
    const { code, printed } = await execute(session, 'list', '--agent', 'lister')
    expect([code, printed.split('\n').map((line) => line.split(' ')[0])]).toEqual([0, [second, first]])
    const json = JSON.parse((await execute(session, 'list', '--agent', 'lister', '--limit', '1', '--json')).printed)
    expect(json).toMatchObject({ sessions: [{ session_id: second, agent: 'lister', status: 'ACTIVE' }], more: true })

    expect((await execute(session, 'show', first)).printed).toMatch(
      new RegExp(`session +${first}\nstatus +ACTIVE, running\n`),
    )
    expect(JSON.parse((await execute(session, 'show', first, '--json')).printed).session.session_id).toBe(first)

    expect(await execute(session, 'kill', first, '--reason', 'enough')).toMatchObject({
      code: 0,
      printed: `session ${first} is KILLED`,
    })
    expect((await execute(session, 'list', '--agent', 'lister', '--status', 'killed')).printed).toContain(first)
    expect((await execute(session, 'list', '--agent', 'lister', '--running')).printed.split(' ')[0]).toBe(second)
    expect((await execute(session, 'list', '--agent', 'nobody')).noted).toBe('no session')
  })

  test('a session that does not exist is an error with what to do', async () => {
    for (const verb of ['show', 'kill']) {
      const { code, noted } = await execute(session, verb, 'sess-none')
      expect([code, noted]).toEqual([1, expect.stringContaining('answered 404')])
    }
  })

  test.each([
    [[]],
    [['show']],
    [['list', 'x']],
    [['kill', 'a b']],
    [['list', '--limit', '0']],
    [['list', '--status', 'x']],
    [['show', 'a', '--reason', 'b']],
    [['kill', 'a', '--running']],
  ])('wrong usage: %j', async (args) => {
    await expect(execute(session, ...args)).rejects.toThrow(UsageError)
  })
})
