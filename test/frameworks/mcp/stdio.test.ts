import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, vi } from 'vitest'
import { docBlocks } from '../../support/files/doc-blocks.js'
import { root } from '../../support/files/tracked-files.js'
import { proves } from '../../support/proves.js'
import { exportOf } from '../../support/runtime/ledger-export.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'
import { ledgerLines } from '../story.js'
import { type Host, hostsOf } from './hosts.js'

const { runtime, api } = await withRuntime()
const url = await runtime.instances[0].listen()
const folder = mkdtempSync(join(tmpdir(), 'countersign-mcp-'))

const CONTRACTS = [
  ...['look', 'fail', 'slow', 'ask', 'link'].map((tool) => ({ tool: `shop__${tool}`, side_effect: 'read' })),
  {
    tool: 'shop__pay',
    side_effect: 'write',
    commit_requirement: 'executed',
    argument_value_invariants: [{ path: '$.amount', lte: 100 }],
  },
  { tool: 'shop__wipe', side_effect: 'destructive', preconditions: [{ requires_prior_tool: 'shop__pay' }] },
]
for (const contract of CONTRACTS) writeFileSync(join(folder, `${contract.tool}.json`), JSON.stringify(contract))

const sessionOf = (name: string) => `ses_mcp_${name}`
const log = (name: string) => join(folder, `${name}.log`)

/** The configuration of a host as the guide has it, with the names of this test. */
const [guide] = docBlocks().filter(({ page, language }) => page === 'docs/guides/mcp.md' && language === 'json')
const { command, args } = JSON.parse(guide?.text ?? '').mcpServers.files
const NAMES: Readonly<Record<string, string>> = { coder: 'shopper', files: 'shop' }
const documented: string[] = args
  .slice(0, args.indexOf('--'))
  .map((arg: string) => NAMES[arg] ?? arg.replace('/path/to/countersign/', root))

/** The command of a server with `countersign mcp` before it: what a person changes in the configuration of a host. */
const hosts = await hostsOf((name) => ({
  command,
  args: [
    ...documented,
    ...['--contracts', folder, '--session', sessionOf(name), '--'],
    process.execPath,
    fileURLToPath(new URL('./shop.mjs', import.meta.url)),
  ],
  env: {
    PATH: process.env.PATH ?? '',
    COUNTERSIGN_API_KEY: runtime.key,
    COUNTERSIGN_API_URL: url,
    SHOP_LOG: log(name),
    SHOP_CHANGED: join(folder, `${name}.changed`),
  },
}))
afterAll(async () => {
  await Promise.all(hosts.map(({ client }) => client.close()))
  rmSync(folder, { recursive: true })
})

const soon = <T>(look: () => T | Promise<T>) => vi.waitFor(look, { interval: 20, timeout: 30_000 })
const call = ({ client }: Host, name: string, args: Record<string, unknown> = {}) =>
  client.callTool({ name, arguments: args })
const shown = async ({ client }: Host) => (await client.listTools()).tools.map(({ name }) => name)
const text = async (result: ReturnType<typeof call>) => JSON.stringify(await result)

for (const host of hosts) {
  proves(['mcp.clients', 'mcp.passes'], `${host.name}: what is not a call of a tool passes`, async () => {
    const { client } = host
    expect((await client.listResources()).resources).toMatchObject([{ uri: 'shop://orders' }])
    expect(await client.readResource({ uri: 'shop://orders/7' })).toMatchObject({ contents: [{ text: 'order 7' }] })
    expect(await client.getPrompt({ name: 'greet', arguments: { who: 'ann' } })).toMatchObject({
      messages: [{ content: { text: 'Greet ann' } }],
    })
    const ref = { type: 'ref/prompt', name: 'greet' } as const
    const { completion } = await client.complete({ ref, argument: { name: 'who', value: '' } })
    expect(completion.values).toEqual(['ann', 'bob'])
    expect(await host.request('acme/unheard-of')).toMatchObject({ unknown: 'acme/unheard-of' })
    if (!host.isModern) expect(await client.ping()).toEqual({})
  })

  proves(['mcp.clients', 'mcp.receipts'], `${host.name}: calls are judged, run and receipted`, async () => {
    const { isModern } = host
    const all = ['look', 'pay', 'fail', 'slow', 'ask', 'link', 'wipe']
    expect(await shown(host)).toEqual(isModern ? all : all.slice(0, -1))
    expect(await call(host, 'pay', { amount: 500 })).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: expect.stringContaining('argument_value_mismatch') }],
    })
    expect(await text(call(host, 'wipe'))).toContain('precondition_not_met')
    expect(await text(call(host, 'unheard_of'))).toContain('unmatched_tool_blocked')
    expect(await call(host, 'mcp__shop__pay', { amount: 5 })).toMatchObject({ structuredContent: { paid: 5 } })
    if (!isModern) await soon(() => expect(host.changes()).toBe(1))
    expect(await shown(host)).toEqual(all)
    expect(await call(host, 'wipe')).toMatchObject({ content: [{ text: 'gone' }] })
    expect(await call(host, 'fail')).toMatchObject({ isError: true, content: [{ text: 'out of paper' }] })
    expect(await call(host, 'link')).toMatchObject({ content: [{ type: 'resource_link', uri: 'shop://orders/7' }] })
    expect(await call(host, 'ask')).toMatchObject({ content: [{ text: 'size xl' }] })
    await expect(host.leave('slow')).rejects.toThrow(/abort/i)
    expect(await call(host, 'look')).toMatchObject({ content: [{ text: '{"order":7}' }] })
    await soon(() => expect(ranBy(host)).toContain('slow cancelled'))
    expect(ranBy(host).filter((line) => line !== 'slow cancelled')).toEqual([
      'pay 5',
      'wipe',
      'fail',
      'link',
      'ask',
      'slow',
      'look',
    ])
    const lines = ledgerLines((await exportOf(api, sessionOf(keyOf(host)))).events).map((line) =>
      line.replace(/mcp_[\w-]+ /, ''),
    )
    expect(lines).toEqual([
      'proposed shop__pay block argument_value_mismatch',
      'proposed shop__wipe block precondition_not_met',
      'proposed shop__unheard_of block unmatched_tool_blocked',
      'proposed shop__pay allow',
      'receipt succeeded executed',
      'proposed shop__wipe allow',
      'receipt succeeded executed',
      'proposed shop__fail allow',
      'receipt failed executed',
      'proposed shop__link allow',
      'receipt succeeded executed',
      // Since 2026-07-28 a question is an answer, and the call is made again with what the person said.
      ...(isModern ? ['proposed shop__ask allow', 'receipt not_executed reported'] : []),
      'proposed shop__ask allow',
      'receipt succeeded executed',
      'proposed shop__slow allow',
      'receipt unknown executed',
      'proposed shop__look allow',
      'receipt succeeded executed',
    ])
  })

  proves('mcp.pinned', `${host.name}: a tool whose definition changes is hidden and blocked`, async () => {
    writeFileSync(join(folder, `${keyOf(host)}.changed`), '')
    await soon(async () => expect(await shown(host)).not.toContain('pay'))
    expect(await text(call(host, 'pay', { amount: 1 }))).toContain('definition_changed')
    expect(ranBy(host)).not.toContain('pay 1')
  })
}

const keyOf = ({ name, isModern }: Host) => (isModern ? 'modern' : name === 'client 1' ? 'first' : 'legacy')
const ranBy = (host: Host) =>
  readFileSync(log(keyOf(host)), 'utf8')
    .trim()
    .split('\n')
