import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Contract } from '@countersign/protocol'
import { expect, onTestFinished, type TestOptions } from 'vitest'
import { claudeHooks } from '../../../packages/sdk/src/adapters/claude/index.js'
import { openSession } from '../../../packages/sdk/src/index.js'
import { docBlocks } from '../../support/files/doc-blocks.js'
import { proves } from '../../support/proves.js'
import { type LoopbackProvider, startProvider } from '../../support/provider/provider.js'
import { exportOf } from '../../support/runtime/ledger-export.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'
import { ledgerLines } from '../story.js'
import { tellCases } from '../tell-cases.js'
import { claudeRuntimeFace, runtimeEnv } from './claude-face.js'
import { claudeFolder, loadClaude, runProgram, whyNotInstalled } from './claude-runtime.js'

const lack = whyNotInstalled()
// Nothing is started for tests that are skipped.
const { runtime } = lack === null ? await withRuntime() : { runtime: null as never }

const inRuntime = (name: string, tell: () => Promise<void>, options: TestOptions = {}) =>
  proves(
    'face.claude',
    `${name} (long rounds only)`,
    async (context) => {
      if (lack !== null) return context.skip(lack)
      await tell()
    },
    { ...options, timeout: 600_000 },
  )

tellCases(claudeRuntimeFace(loadClaude), runtime, inRuntime)

inRuntime('the example denies a command and runs another', async () => {
  const said = await runProgram(runtime, join(claudeFolder, 'main.mjs'), claudeFolder, {})
  const shown = docBlocks().find(({ page, language }) => page === 'docs/guides/claude.md' && language === 'text')
  expect(said).toBe(shown?.text)
})

inRuntime('whoever follows the page has a governed agent', async () => {
  mkdirSync(join(claudeFolder, 'mine'), { recursive: true })
  const home = await mkdtemp(join(claudeFolder, 'mine', 'page-'))
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
  const said = await runProgram(runtime, 'agent.mjs', home, runtimeEnv(home, provider))
  expect(said).toContain('I may not.')
  expect(existsSync(join(home, 'tmp'))).toBe(true)
  expect(JSON.stringify(provider.requests.map(({ body }) => body))).toContain('only ls, cat and echo')
})

const bash: Contract = {
  tool: 'Bash',
  side_effect: 'write',
  argument_value_invariants: [{ path: '$.command', regex: '^echo ' }],
}

/** Runs a query whose model answers by the script, and gives the ledger of its session. */
async function runQuery(
  contracts: readonly Contract[],
  script: (provider: LoopbackProvider, home: string) => void,
  given: object,
): Promise<{ lines: string[]; home: string; asked: string }> {
  const provider = await startProvider()
  onTestFinished(() => provider.close())
  const home = await mkdtemp(join(tmpdir(), 'countersign-claude-'))
  onTestFinished(() => rm(home, { recursive: true, force: true }))
  script(provider, home)
  const session = openSession({ contracts, apiKey: runtime.key, fetch: runtime.fetch, agent: 'claude' })
  const { query } = await loadClaude()
  const options = {
    hooks: claudeHooks(session),
    cwd: home,
    settingSources: [],
    env: runtimeEnv(home, provider),
    ...given,
  }
  for await (const _ of query({ prompt: 'go on', options }));
  await session.close()
  const lines = ledgerLines((await exportOf(runtime.api(), session.sessionId)).events)
  return { lines, home, asked: JSON.stringify(provider.requests.map(({ body }) => body)) }
}

inRuntime('the real runtime obeys the hooks', async () => {
  const { lines, home, asked } = await runQuery(
    [bash],
    (provider, folder) => {
      provider.enqueue(
        { calls: [{ id: 'toolu_1', name: 'Bash', arguments: { command: `touch ${folder}/blocked` } }] },
        { calls: [{ id: 'toolu_2', name: 'Bash', arguments: { command: `echo hi > ${folder}/allowed` } }] },
      )
      provider.answerWith(() => ({ text: 'done' }))
    },
    { tools: ['Bash'], allowedTools: ['Bash'] },
  )
  expect(existsSync(join(home, 'blocked'))).toBe(false)
  expect(existsSync(join(home, 'allowed'))).toBe(true)
  expect(lines).toEqual([
    'proposed toolu_1 Bash block argument_value_mismatch',
    'proposed toolu_2 Bash allow',
    'receipt toolu_2 succeeded reported',
    'ended',
  ])
  expect(asked).toContain('argument_value_mismatch')
})

inRuntime('a sub-agent of the real runtime is judged while the call that started it runs', async () => {
  const start = { description: 'say hi', prompt: 'say hi', subagent_type: 'greeter', run_in_background: false }
  const { lines } = await runQuery(
    [bash, { tool: 'Agent', side_effect: 'read' }],
    (provider) => {
      provider.enqueue(
        { calls: [{ id: 'toolu_1', name: 'Agent', arguments: start }] },
        { calls: [{ id: 'toolu_2', name: 'Bash', arguments: { command: 'echo hi' } }] },
        { text: 'said hi' },
        { calls: [{ id: 'toolu_3', name: 'Bash', arguments: { command: 'echo done' } }] },
      )
      provider.answerWith(() => ({ text: 'done' }))
    },
    {
      tools: ['Bash', 'Agent'],
      allowedTools: ['Bash', 'Agent'],
      agents: { greeter: { description: 'greets', prompt: 'you greet', tools: ['Bash'] } },
    },
  )
  expect(lines).toEqual([
    'proposed toolu_1 Agent allow',
    'receipt toolu_1 unknown reported',
    'proposed toolu_2 Bash allow',
    'receipt toolu_2 succeeded reported',
    'proposed toolu_3 Bash allow',
    'receipt toolu_3 succeeded reported',
    'ended',
  ])
})

inRuntime('a query goes on after one that was given up, of whose call the real runtime tells nothing', async () => {
  const provider = await startProvider()
  onTestFinished(() => provider.close())
  const home = await mkdtemp(join(tmpdir(), 'countersign-claude-'))
  onTestFinished(() => rm(home, { recursive: true, force: true }))
  provider.enqueue({ calls: [{ id: 'toolu_1', name: 'Bash', arguments: { command: 'echo hi; sleep 30' } }] })
  const session = openSession({ contracts: [bash], apiKey: runtime.key, fetch: runtime.fetch, agent: 'claude' })
  const { query } = await loadClaude()
  const abortController = new AbortController()
  let resume = ''
  const watch = async (input: object) => {
    resume = (input as { session_id: string }).session_id
    setTimeout(() => abortController.abort(), 2_000)
    return {}
  }
  const hooks = claudeHooks(session)
  const options = {
    cwd: home,
    tools: ['Bash'],
    allowedTools: ['Bash'],
    settingSources: [],
    env: runtimeEnv(home, provider),
  }
  const watched = { ...hooks, PreToolUse: [...hooks.PreToolUse, { hooks: [watch] }] }
  const givenUp = async () => {
    for await (const _ of query({ prompt: 'go on', options: { ...options, hooks: watched, abortController } }));
  }
  await expect(givenUp()).rejects.toThrow('aborted')
  provider.enqueue({ calls: [{ id: 'toolu_2', name: 'Bash', arguments: { command: 'echo again' } }] })
  provider.answerWith(() => ({ text: 'done' }))
  for await (const _ of query({ prompt: 'go on again', options: { ...options, hooks, resume } }));
  await session.close()
  expect(ledgerLines((await exportOf(runtime.api(), session.sessionId)).events)).toEqual([
    'proposed toolu_1 Bash allow',
    'receipt toolu_1 unknown reported',
    'proposed toolu_2 Bash allow',
    'receipt toolu_2 succeeded reported',
    'ended',
  ])
})
