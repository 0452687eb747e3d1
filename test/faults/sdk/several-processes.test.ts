import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect } from 'vitest'
import { ledgerLines } from '../../frameworks/story.js'
import { rounds } from '../../support/data/rounds.js'
import { checkSession } from '../../support/model/session-checker.js'
import { buildOnce } from '../../support/process/command-line.js'
import { startReplyGate } from '../../support/process/reply-gate.js'
import { startSdkProcess } from '../../support/process/sdk-process.js'
import { proves } from '../../support/proves.js'
import { exportOf } from '../../support/runtime/ledger-export.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

/** Processes with the SDK on the same sessions, through two servers on one database. */
const { runtime, api } = await withRuntime({ instances: 2 })
const origins = await Promise.all(runtime.instances.map((instance) => instance.listen()))

/** The tool that they share. It writes down who asked for what, and answers when the test lets it. */
const ran: { of: string; session: string; pid: number }[] = []
let answering = Promise.resolve()
const tool = createServer(async (request, response) => {
  ran.push((await json(request)) as (typeof ran)[number])
  await answering
  response.end('{}')
})

buildOnce()
const gate = await startReplyGate(origins[0] ?? '')
await new Promise<void>((done) => tool.listen(0, '127.0.0.1', done))
const [one, two, three] = await Promise.all([startSdkProcess(), startSdkProcess(), startSdkProcess()])
afterAll(async () => {
  await Promise.all([one, two, three].map((each) => each.kill()))
  tool.close()
  tool.closeAllConnections()
  gate.close()
})

const contracts = [{ tool: 'pay', side_effect: 'write' }]
/** Options of a process at one of the servers. */
const at = (server: number, options: object = {}) => ({
  contracts,
  toolUrl: `http://127.0.0.1:${(tool.address() as AddressInfo).port}`,
  apiKey: runtime.key,
  runtimeUrl: origins[server % origins.length],
  ...options,
})
const ranIn = (id: string) => ran.filter(({ session }) => session === id).map(({ of, pid }) => [of, pid])

/** The ledger of a session in short lines, once everything that must hold of it was checked. */
async function ledgerOf(id: string): Promise<string[]> {
  const exported = await exportOf(api, id)
  expect(await checkSession(runtime.sql, id, exported)).toEqual([])
  return ledgerLines(exported.events)
}
const LOST = 'another holder has recovered this session'

/** What each came to; null for those that failed. */
const outcomes = async <T>(all: readonly Promise<T>[]): Promise<(T | null)[]> =>
  (await Promise.allSettled(all)).map((one) => (one.status === 'fulfilled' ? one.value : null))

proves(
  'guarantee.processes.one-holder',
  'three processes open, prepare, propose and run at once: one is allowed its call, which runs in it alone',
  async () => {
    for (let round = 0; round < rounds(2, 50); round++) {
      const id = `ses-race-${round}`
      const all = [one, two, three]
      await Promise.all(all.map((each, index) => each.open(id, at(index))))
      const prepared = await outcomes(all.map((each) => each.prepare(id).then(() => each)))
      const racing = prepared.filter((each) => each !== null)
      const verdicts = await outcomes(racing.map((each) => each.propose(id, `by-${each.pid}`)))
      const [winner, ...others] = racing.filter((_, index) => verdicts[index]?.[0] === 'allow')
      if (winner === undefined) throw new Error('nobody was allowed anything')
      expect(others).toEqual([])
      const runs = await outcomes(all.map((each) => each.run(id, `by-${winner.pid}`)))
      expect(runs.filter((isRun) => isRun === true)).toHaveLength(1)
      expect(ranIn(id)).toEqual([[`by-${winner.pid}`, winner.pid]])
      // Whoever lost it cannot end it either.
      await outcomes(all.filter((each) => each !== winner).map((each) => each.close(id)))
      await winner.prepare(id)
      await winner.close(id)
      const lines = await ledgerOf(id)
      expect(lines.filter((line) => line !== 'recovered')).toEqual([
        `proposed by-${winner.pid} pay allow`,
        `receipt by-${winner.pid} succeeded executed`,
        'ended',
      ])
    }
  },
)

proves(
  'guarantee.processes.one-holder',
  'while a call of one process waits for its outcome, another is refused unless it takes the session over',
  async () => {
    const id = 'ses-held'
    await one.begin(id, at(0), 'c1')
    await two.open(id, at(1))
    await expect(two.prepare(id)).rejects.toThrow('LEASE_ACTIVE')
    await three.begin(id, at(1, { takeover: true, inDoubt: 'not_executed' }), 'c2')
    await one.close(id)
    expect(await three.run(id, 'c2')).toBe(true)
    await expect(one.run(id, 'c1')).resolves.toBe(false)
    expect(ranIn(id)).toEqual([['c2', three.pid]])
    await ledgerOf(id)
  },
)

proves(
  'guarantee.processes.lost-holder',
  'killed with -9 in the middle of a tool: nobody runs the call again, and it counts as unknown',
  async () => {
    const id = 'ses-killed'
    const lost = await startSdkProcess()
    let answer = (): void => {}
    answering = new Promise((done) => (answer = done))
    await lost.begin(id, at(0), 'c1')
    lost.run(id, 'c1').catch(() => {})
    await expect.poll(() => ranIn(id)).toHaveLength(1)
    await lost.kill()
    answer()
    await two.open(id, at(1))
    await expect(two.prepare(id)).rejects.toThrow('LEASE_ACTIVE')
    await three.begin(id, at(0, { takeover: true }), 'c2')
    await expect(three.run(id, 'c1')).rejects.toThrow('no call "c1" is known')
    expect(await three.run(id, 'c2')).toBe(true)
    expect(ranIn(id)).toEqual([
      ['c1', lost.pid],
      ['c2', three.pid],
    ])
    expect(await ledgerOf(id)).toEqual([
      'proposed c1 pay allow',
      'recovered',
      'receipt c1 unknown reported',
      'proposed c2 pay allow',
      'receipt c2 succeeded executed',
    ])
  },
)

proves(
  ['guarantee.processes.lost-holder', 'guarantee.processes.known-stop'],
  'stopped in the middle of a tool, taken over and ended: what it reports is late, and it starts no tool any more',
  async () => {
    const id = 'ses-paused'
    let answer = (): void => {}
    answering = new Promise((done) => (answer = done))
    await one.begin(id, at(0), 'c1', 'c2')
    const running = one.run(id, 'c1')
    await expect.poll(() => ranIn(id)).toHaveLength(1)
    one.pause()
    await two.begin(id, at(1, { takeover: true }), 'c3')
    answer()
    expect(await two.run(id, 'c3')).toBe(true)
    await two.close(id)
    one.goOn()
    expect(await running).toBe(true)
    await one.flush(id)
    expect(await one.run(id, 'c2')).toBe(false)
    await expect(one.prepare(id)).rejects.toThrow(LOST)
    expect(ranIn(id)).toEqual([
      ['c1', one.pid],
      ['c3', two.pid],
    ])
    expect(await ledgerOf(id)).toEqual([
      'proposed c1 pay allow',
      'proposed c2 pay allow',
      'recovered',
      'receipt c1 unknown reported',
      'receipt c2 unknown reported',
      'proposed c3 pay allow',
      'receipt c3 succeeded executed',
      'ended',
      'receipt c1 succeeded executed',
      'receipt c2 not_executed reported',
    ])
  },
)

proves(
  'guarantee.processes.fresh-word',
  'stopped while its decisions were on their way: what was killed or taken over meanwhile does not run',
  async () => {
    const ids = ['ses-late-kill', 'ses-late-takeover']
    const through = at(0, { runtimeUrl: gate.url, timeoutMs: 60_000 })
    const runs: Promise<boolean>[] = []
    const held = []
    for (const id of ids) {
      await one.open(id, through)
      await one.prepare(id)
      held.push(gate.hold(new RegExp(`POST .*${id}/proposals`)))
      runs.push(one.propose(id, 'c1').then(() => one.run(id, 'c1')))
    }
    await Promise.all(held.map(({ reached }) => reached))
    one.pause()
    for (const { open } of held) open()
    await api.killSession({ params: { session_id: 'ses-late-kill' }, body: {} })
    await two.begin('ses-late-takeover', at(1, { takeover: true, inDoubt: 'not_executed' }), 'c2')
    expect(await two.run('ses-late-takeover', 'c2')).toBe(true)
    await sleep(5_100)
    one.goOn()
    expect(await Promise.all(runs)).toEqual([false, false])
    expect(ids.map(ranIn)).toEqual([[], [['c2', two.pid]]])
    expect(await Promise.all(ids.map(ledgerOf))).toEqual([
      ['proposed c1 pay allow', 'killed', 'receipt c1 not_executed reported'],
      [
        'proposed c1 pay allow',
        'recovered',
        'receipt c1 not_executed reported',
        'proposed c2 pay allow',
        'receipt c2 succeeded executed',
        'receipt c1 not_executed reported',
      ],
    ])
  },
)

proves(
  'guarantee.processes.known-stop',
  'a process that heard of a stop starts no other call of the same answer',
  async () => {
    const stops: [string, string, () => Promise<unknown>][] = [
      ['ses-stop-kill', 'killed', () => api.killSession({ params: { session_id: 'ses-stop-kill' }, body: {} })],
      [
        'ses-stop-bypass',
        'bypass',
        () => api.reportBypass({ params: { session_id: 'ses-stop-bypass' }, body: { method: 'm' } }),
      ],
    ]
    for (const [id, event, stop] of stops) {
      await one.begin(id, at(0), 'c1', 'c2')
      await stop()
      // Its decision is seconds old, so that it runs; its receipt brings the news.
      expect(await one.run(id, 'c1')).toBe(true)
      await one.flush(id)
      expect(await one.run(id, 'c2')).toBe(false)
      expect(ranIn(id)).toEqual([['c1', one.pid]])
      expect(await ledgerOf(id)).toEqual([
        'proposed c1 pay allow',
        'proposed c2 pay allow',
        event,
        'receipt c1 succeeded executed',
        'receipt c2 not_executed reported',
      ])
    }
  },
)

proves('session.other-contracts', async () => {
  const id = 'ses-other-contracts'
  await one.begin(id, at(0), 'c1')
  expect(await one.run(id, 'c1')).toBe(true)
  await two.open(id, at(1, { contracts: [...contracts, { tool: 'find' }], takeover: true }))
  await expect(two.prepare(id)).rejects.toThrow('was created with different contracts')
  // The first never notices.
  await one.prepare(id)
  expect(await one.propose(id, 'c2')).toEqual(['allow'])
  expect(await one.run(id, 'c2')).toBe(true)
  expect(await ledgerOf(id)).not.toContain('recovered')
})

proves(
  'guarantee.processes.one-holder',
  'a process without a key has a session of its own under the same id',
  async () => {
    const id = 'ses-local'
    await one.begin(id, at(0), 'c1')
    const { apiKey: _, runtimeUrl: __, ...local } = at(0)
    await two.begin(id, local, 'c1')
    await two.close(id)
    expect(await one.run(id, 'c1')).toBe(true)
    await one.close(id)
    expect(ranIn(id)).toEqual([['c1', one.pid]])
    expect(await ledgerOf(id)).toEqual(['proposed c1 pay allow', 'receipt c1 succeeded executed', 'ended'])
  },
)
