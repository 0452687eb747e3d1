import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { claudeHooks } from '../../packages/sdk/src/adapters/claude/index.js'
import { openSession, type ReplayOptions } from '../../packages/sdk/src/index.js'
import { docBlocks } from '../support/files/doc-blocks.js'
import { root } from '../support/files/tracked-files.js'
import { buildOnce } from '../support/process/command-line.js'
import { proves } from '../support/proves.js'
import { startProvider } from '../support/provider/provider.js'
import { exportOf } from '../support/runtime/ledger-export.js'
import { withRuntime } from '../support/runtime/with-runtime.js'
import { ledgerLines } from './story.js'

const { runtime } = await withRuntime()

const contracts = [
  { tool: 'Bash', side_effect: 'write' as const, argument_value_invariants: [{ path: '$.command', regex: '^echo ' }] },
  {
    tool: 'bank__pay',
    side_effect: 'write' as const,
    aggregates: [{ name: 'paid', path: '$.amount', function: 'sum' as const, lte: 5 }],
  },
]

function govern(options: ReplayOptions = {}) {
  const session = openSession({ contracts, apiKey: runtime.key, fetch: runtime.fetch, agent: 'claude', ...options })
  const hooks = claudeHooks(session)
  /**
   * What the runtime does with one call: asks the hook, runs it unless that denies it, tells the outcome and what it has
   * run. `ended` differs from the input where somebody has changed that; null where the runtime is lost.
   */
  const call = async (
    id: string,
    tool_name: string,
    tool_input: object,
    ended: { input?: object; event?: 'PostToolUse' | 'PostToolUseFailure' } | null = {},
  ): Promise<string> => {
    const about = { tool_name, tool_input, tool_use_id: id }
    const [{ hooks: [before] = [] } = { hooks: [] }] = hooks.PreToolUse
    const said = JSON.stringify(await before?.({ hook_event_name: 'PreToolUse', ...about }, id))
    if (said.includes('"deny"')) return said
    if (ended === null) return 'lost'
    const { input = tool_input, event = 'PostToolUse' } = ended
    const told = event === 'PostToolUse' ? { tool_response: 'ok' } : { error: 'exit code 1' }
    await hooks[event][0]?.hooks[0]?.({ hook_event_name: event, ...about, tool_input: input, ...told }, id)
    return 'ran'
  }
  const lines = async () => {
    await session.close()
    return ledgerLines((await exportOf(runtime.api(), session.sessionId)).events)
  }
  return { session, call, lines }
}

proves('face.claude', 'a call is judged before the runtime runs it, and its outcome is reported', async () => {
  const { call, lines } = govern()
  expect(await call('c1', 'Bash', { command: 'rm -rf x' })).toContain('argument_value_mismatch')
  expect(await call('c2', 'Bash', { command: 'echo hi' })).toBe('ran')
  expect(await call('c3', 'Write', {})).toContain('unmatched_tool_blocked')
  expect(await lines()).toEqual([
    'proposed c1 Bash block argument_value_mismatch',
    'proposed c2 Bash allow',
    'receipt c2 succeeded reported',
    'proposed c3 Write block unmatched_tool_blocked',
    'ended',
  ])
})

proves('face.claude', 'calls side by side cannot together pass a limit, and MCP names lose their prefix', async () => {
  const { call, lines } = govern()
  const ends = await Promise.all(['c1', 'c2'].map((id) => call(id, 'mcp__bank__pay', { amount: 5 })))
  expect(ends.filter((end) => end === 'ran')).toHaveLength(1)
  expect(await lines()).toEqual([
    'proposed c1 bank__pay allow',
    'proposed c2 bank__pay block aggregate_limit_exceeded',
    'receipt c1 succeeded reported',
    'ended',
  ])
})

proves('face.claude', 'of two calls side by side one is denied, and a tool that failed has failed', async () => {
  const { call, lines } = govern()
  const ends = await Promise.all([
    call('c1', 'Bash', { command: 'rm -rf x' }),
    call('c2', 'Bash', { command: 'echo hi > /nowhere/x' }, { event: 'PostToolUseFailure' }),
  ])
  expect(ends).toEqual([expect.stringContaining('argument_value_mismatch'), 'ran'])
  expect(await lines()).toEqual([
    'proposed c1 Bash block argument_value_mismatch',
    'proposed c2 Bash allow',
    'receipt c2 failed reported',
    'ended',
  ])
})

proves('face.claude', 'a call that ran with another input than was judged is unknown', async () => {
  const { call, lines } = govern()
  await call('c1', 'Bash', { command: 'echo hi', timeout: 5 }, { input: { timeout: 5, command: 'echo hi' } })
  await call('c2', 'Bash', { command: 'echo hi' }, { input: { command: 'rm -rf x' } })
  expect(await lines()).toEqual([
    'proposed c1 Bash allow',
    'receipt c1 succeeded reported',
    'proposed c2 Bash allow',
    'receipt c2 unknown reported',
    'ended',
  ])
})

proves('face.claude', 'a run of which the runtime told nobody is unknown, never succeeded', async () => {
  const { session, call } = govern()
  expect(await call('c1', 'Bash', { command: 'echo hi' }, null)).toBe('lost')
  const next = govern({ sessionId: session.sessionId, takeover: true })
  await next.call('c2', 'Bash', { command: 'echo again' })
  expect(await next.lines()).toEqual([
    'proposed c1 Bash allow',
    'recovered',
    'receipt c1 unknown reported',
    'proposed c2 Bash allow',
    'receipt c2 succeeded reported',
    'ended',
  ])
  await session.close()
})

proves('face.claude', 'nothing runs while the server is down', async () => {
  const { call, session } = govern({
    fetch: async () => {
      throw new TypeError('fetch failed')
    },
  })
  expect(await call('c1', 'Bash', { command: 'echo hi' })).toContain('did not run')
  await session.close()
})

const folder = join(root, 'examples/frameworks/claude')
const entry = join(folder, 'node_modules/@anthropic-ai/claude-agent-sdk/sdk.mjs')

/** Why the real runtime is not tried: 420 MB, and not free software. Null where it is installed. */
function whyNotInstalled(): string | null {
  if (process.env.COUNTERSIGN_TEST_ROUNDS !== 'long') return 'only in long rounds: it installs 420 MB'
  const args = ['install', '--no-package-lock', '--no-audit', '--no-fund', '--loglevel=error']
  if (!existsSync(entry)) spawnSync('npm', args, { cwd: folder, stdio: 'inherit' })
  return existsSync(entry) ? null : '@anthropic-ai/claude-agent-sdk could not be installed'
}

/** Runs a program beside the example, where the runtime is installed, with the packages as they are built. */
async function runProgram(file: string, cwd: string, env: Record<string, string>): Promise<string> {
  buildOnce()
  const url = await runtime.instances[0].listen()
  const { PATH = '' } = process.env
  const service = { COUNTERSIGN_API_KEY: runtime.key, COUNTERSIGN_API_URL: url }
  const child = spawn(process.execPath, ['--import', 'tsx', file], { cwd, env: { PATH, ...service, ...env } })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  await new Promise((done) => child.once('close', done))
  return output
}

proves(
  'face.claude',
  'the example denies a command and runs another (long rounds only)',
  async (context) => {
    const lack = whyNotInstalled()
    if (lack !== null) return context.skip(lack)
    const said = await runProgram(join(folder, 'main.mjs'), folder, {})
    const shown = docBlocks().find(({ page, language }) => page === 'docs/guides/claude.md' && language === 'text')
    expect(said).toBe(shown?.text)
  },
  600_000,
)

proves(
  'face.claude',
  'whoever follows the page has a governed agent (long rounds only)',
  async (context) => {
    const lack = whyNotInstalled()
    if (lack !== null) return context.skip(lack)
    mkdirSync(join(folder, 'mine'), { recursive: true })
    const home = await mkdtemp(join(folder, 'mine', 'page-'))
    onTestFinished(() => rm(home, { recursive: true, force: true }))
    for (const { page, file, text } of docBlocks()) {
      if (page !== 'docs/guides/claude.md' || file === null) continue
      mkdirSync(dirname(join(home, file)), { recursive: true })
      writeFileSync(join(home, file), text)
    }
    mkdirSync(join(home, 'tmp'))
    const provider = await startProvider()
    onTestFinished(() => provider.close())
    provider.enqueue({ calls: [{ id: 'toolu_1', name: 'Bash', arguments: { command: 'rm -rf tmp' } }] })
    provider.answerWith(() => ({ text: 'I may not.' }))
    const said = await runProgram('agent.mjs', home, {
      HOME: home,
      CLAUDE_CONFIG_DIR: home,
      ANTHROPIC_BASE_URL: provider.url,
      ANTHROPIC_API_KEY: 'sk-fake',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    })
    expect(said).toContain('I may not.')
    expect(existsSync(join(home, 'tmp'))).toBe(true)
    expect(JSON.stringify(provider.requests.map(({ body }) => body))).toContain('only ls, cat and echo')
  },
  600_000,
)

proves(
  'face.claude',
  'the real runtime obeys the hooks (long rounds only)',
  async (context) => {
    const lack = whyNotInstalled()
    if (lack !== null) return context.skip(lack)
    const provider = await startProvider()
    onTestFinished(() => provider.close())
    const home = await mkdtemp(join(tmpdir(), 'countersign-claude-'))
    onTestFinished(() => rm(home, { recursive: true, force: true }))
    provider.enqueue(
      { calls: [{ id: 'toolu_1', name: 'Bash', arguments: { command: `touch ${home}/blocked` } }] },
      { calls: [{ id: 'toolu_2', name: 'Bash', arguments: { command: `echo hi > ${home}/allowed` } }] },
    )
    provider.answerWith(() => ({ text: 'done' }))
    const session = openSession({ contracts, apiKey: runtime.key, fetch: runtime.fetch, agent: 'claude' })
    const { query } = (await import(entry)) as { query(given: object): AsyncIterable<{ type: string }> }
    const options = {
      hooks: claudeHooks(session),
      cwd: home,
      tools: ['Bash'],
      allowedTools: ['Bash'],
      settingSources: [],
      env: {
        PATH: process.env.PATH,
        HOME: home,
        CLAUDE_CONFIG_DIR: home,
        ANTHROPIC_BASE_URL: provider.url,
        ANTHROPIC_API_KEY: 'sk-fake',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      },
    }
    for await (const _ of query({ prompt: 'go on', options }));
    await session.close()
    expect(existsSync(join(home, 'blocked'))).toBe(false)
    expect(existsSync(join(home, 'allowed'))).toBe(true)
    expect(ledgerLines((await exportOf(runtime.api(), session.sessionId)).events)).toEqual([
      'proposed toolu_1 Bash block argument_value_mismatch',
      'proposed toolu_2 Bash allow',
      'receipt toolu_2 succeeded reported',
      'ended',
    ])
    expect(JSON.stringify(provider.requests.map(({ body }) => body))).toContain('argument_value_mismatch')
  },
  600_000,
)
