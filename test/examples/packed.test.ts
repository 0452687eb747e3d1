import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { rounds } from '../support/data/rounds.js'
import { buildOnce } from '../support/process/command-line.js'
import { proves } from '../support/proves.js'

/** The packages as a program gets them: packed, installed into an empty project, and used both ways. */
const root = fileURLToPath(new URL('../..', import.meta.url))
const isLong = process.env.COUNTERSIGN_TEST_ROUNDS === 'long'
let project: string

const run = (program: string, ...args: string[]): string =>
  execFileSync(program, args, { cwd: project, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })

beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), 'countersign-packed-'))
  buildOnce()
  const packages = ['protocol', 'engine', 'sdk'].map((name) => join(root, 'packages', name))
  const packed = execFileSync('npm', ['pack', '--json', '--pack-destination', project, ...packages], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const tarballs = (JSON.parse(packed) as { filename: string }[]).map(({ filename }) => `./${filename}`)
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'empty', private: true }))
  run('npm', 'install', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', ...tarballs)
}, 300_000)
afterAll(() => rmSync(project, { recursive: true, force: true }))

const PROGRAM = `
const look = { tool: 'look', side_effect: 'read' }
const create = async () => ({ choices: [{ index: 0, finish_reason: 'tool_calls', message: { role: 'assistant', content: null,
  tool_calls: [{ id: 'c1', type: 'function', function: { name: 'pay', arguments: '{}' } }] } }] })
const request = { model: 'm', messages: [], tools: [{ type: 'function', function: { name: 'look' } }] }
async function main() {
  const verdict = sdk.validate({ tool_calls: [{ id: 'c1', name: 'look', arguments: '{}' }] }, { contracts: look })
  const session = sdk.replay({ chat: { completions: { create } } }, { contracts: look })
  const error = await session.client.chat.completions.create(request).catch((thrown) => thrown)
  const policy = { cedar: 'permit (principal, action, resource);' }
  let cedar = ''
  try {
    sdk.replay({ chat: { completions: { create } } }, { contracts: { ...look, policy }, principal: { id: 'a' } })
  } catch (thrown) {
    cedar = thrown.message
  }
  await session.restore()
  console.log(JSON.stringify({ pass: verdict.pass, error: error.name, is: error instanceof sdk.ReplayContractError,
    reason: error.decision.blocked[0].reason, cedar, names: Object.keys(sdk).sort() }))
}
main()
`

function checkPrograms(node: string): void {
  writeFileSync(join(project, 'program.mjs'), `import * as sdk from '@countersign/sdk'\n${PROGRAM}`)
  writeFileSync(join(project, 'program.cjs'), `const sdk = require('@countersign/sdk')\n${PROGRAM}`)
  for (const file of ['program.mjs', 'program.cjs']) {
    const said = JSON.parse(run(node, file))
    expect(said).toMatchObject({
      pass: true,
      error: 'ReplayContractError',
      is: true,
      reason: 'unmatched_tool_blocked',
      cedar: expect.stringContaining('install @cedar-policy/cedar-wasm'),
    })
    expect(said.names).toEqual(expect.arrayContaining(['observe', 'prepareContracts', 'replay', 'validate']))
  }
}

test(`works from ESM and by require, without Cedar and without a provider's package (node ${process.versions.node})`, () => {
  checkPrograms(process.execPath)
})

const ADAPTERS = { ai: 'govern', langchain: 'countersign', 'openai-agents': 'govern', claude: 'claudeHooks' }

test('brings its adapters, without their frameworks', () => {
  const forms = {
    'adapters.mjs': (from: string) => `await import('${from}')`,
    'adapters.cjs': (from: string) => `require('${from}')`,
  }
  for (const [file, load] of Object.entries(forms)) {
    const lines = Object.entries(ADAPTERS).map(
      ([name, entry]) => `console.log('${name}', typeof (${load(`@countersign/sdk/${name}`)}).${entry})`,
    )
    writeFileSync(join(project, file), lines.join('\n'))
    expect(run(process.execPath, file).trim().split('\n')).toEqual(
      Object.keys(ADAPTERS).map((name) => `${name} function`),
    )
  }
})

const TYPED = `import { type ApprovalRequest, type ApprovalResponse, type BlockReason, type Contract, type Decision, type HealthSnapshot, openSession, type ReplayOptions, replay, validate } from '@countersign/sdk'
import { govern } from '@countersign/sdk/ai'
import { claudeHooks } from '@countersign/sdk/claude'
import { countersign } from '@countersign/sdk/langchain'
import { govern as governAgents } from '@countersign/sdk/openai-agents'
const client = { chat: { completions: { create: async (request: { model: string }) => ({ model: request.model }) } } }
const options: ReplayOptions = { contracts: { tool: 'look', side_effect: 'read' }, gate: 'strip_blocked', tools: { look: (args: { at: string }) => args.at } }
const session = replay(client, options)
const answer: Promise<{ model: string }> = session.client.chat.completions.create({ model: 'm' })
const health: HealthSnapshot = session.getHealth()
const pass: boolean = validate({}, { contracts: [] }).pass
// @ts-expect-error there is no such gate
replay(client, { gate: 'open' })
const governed = openSession({ contracts: { tool: 'look', side_effect: 'read' } })
const model = { specificationVersion: 'v4', provider: 'p', modelId: 'm', doGenerate: async () => ({}), doStream: async () => ({}) }
const agent: { model: typeof model; tools: { look: { id: number } } } = govern(governed, { model, tools: { look: { id: 1 } } })
const parts = [countersign(governed).name, claudeHooks(governed).PreToolUse.length, governAgents]
// @ts-expect-error a model is no name
govern(governed, { model: 'gpt', tools: {} })
const contract: Contract = { tool: 'look', side_effect: 'read' }
const onCheckpoint = async ({ checkpoint_id }: ApprovalRequest): Promise<ApprovalResponse> => ({ checkpoint_id, decision: 'deny', decided_by: 'me', decided_at: '' })
const reasonOf = ({ reason }: Decision): BlockReason | null => reason
const typed = replay(client, { contracts: contract, onCheckpoint, tools: { look: async (args: { at: string }) => args.at.length } })
const seen: Promise<number> = typed.tools.look({ at: 'x' })
// @ts-expect-error the executor returns a number
const wrong: Promise<string> = typed.tools.look({ at: 'x' })
export { agent, answer, health, parts, pass, reasonOf, seen, wrong }
`

for (const module of ['node16', ...(rounds(0, 1) === 1 ? ['nodenext'] : [])]) {
  proves(
    ['sdk.types.modules', 'sdk.types.exported', 'sdk.types.executors'],
    `brings its types (module ${module})`,
    () => {
      const programs = ['program.mts', ...(isLong ? ['program.cts'] : [])]
      for (const file of programs) writeFileSync(join(project, file), TYPED)
      const compiler = join(root, 'node_modules', '.bin', 'tsc')
      const flags = ['--noEmit', '--strict', '--skipLibCheck', 'false', '--module', module, '--target', 'es2022']
      const types = ['--types', 'node', '--typeRoots', join(root, 'node_modules', '@types')]
      run(compiler, ...flags, ...types, ...programs)
    },
  )
}

proves('sdk.bundled', async () => {
  for (const format of ['esm', 'cjs'] as const) {
    const outfile = join(project, format === 'esm' ? 'bundled.mjs' : 'bundled.cjs')
    await build({
      absWorkingDir: project,
      entryPoints: ['program.mjs'],
      outfile,
      bundle: true,
      format,
      platform: 'node',
    })
    const said = JSON.parse(run(process.execPath, '--disallow-code-generation-from-strings', outfile))
    expect(said).toMatchObject({ pass: true, reason: 'unmatched_tool_blocked' })
  }
})

const POLICY = `
import { replay } from '@countersign/sdk'
const create = async () => ({ choices: [{ index: 0, finish_reason: 'tool_calls', message: { role: 'assistant', content: null,
  tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }] } }] })
const policy = { cedar: 'permit (principal, action, resource) when { principal.role == "boss" };' }
async function main() {
  const ends = []
  const request = { model: 'm', messages: [], tools: [{ type: 'function', function: { name: 'look' } }] }
  for (const role of ['boss', 'guest']) {
    const contracts = { tool: 'look', side_effect: 'read', policy }
    const session = replay({ chat: { completions: { create } } }, { contracts, principal: { role } })
    ends.push(await session.client.chat.completions.create(request).then(() => 'allowed', (error) => error.decision.blocked[0].reason))
  }
  console.log(ends.join())
}
main().catch((error) => console.log(error.message))
`

proves(
  'sdk.bundled',
  'a bundle with a policy finds Cedar beside it, and says what is missing where it is not',
  async () => {
    writeFileSync(join(project, 'policy.mjs'), POLICY)
    for (const format of ['esm', 'cjs'] as const) {
      const deployed = mkdtempSync(join(project, 'deployed-'))
      const outfile = join(deployed, format === 'esm' ? 'policy.mjs' : 'policy.cjs')
      const entryPoints = ['policy.mjs']
      await build({
        absWorkingDir: project,
        entryPoints,
        outfile,
        bundle: true,
        format,
        platform: 'node',
        logLevel: 'error',
      })
      expect(run(process.execPath, outfile)).toBe(
        'the plan has a policy, and Cedar cannot be loaded: install @cedar-policy/cedar-wasm where the program runs\n',
      )
      mkdirSync(join(deployed, 'node_modules'))
      symlinkSync(join(root, 'node_modules', '@cedar-policy'), join(deployed, 'node_modules', '@cedar-policy'))
      expect(run(process.execPath, outfile)).toBe('allowed,policy_denied\n')
    }
  },
)

test('installs nothing that an agent program would not want', () => {
  const lock = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, unknown>
  }
  const installed = Object.keys(lock.packages)
    .filter((path) => path !== '')
    .map((path) => path.replace('node_modules/', ''))
  expect(installed.filter((name) => /postgres|react|pino|openai|anthropic|cedar/.test(name))).toEqual([])
  expect(installed.length).toBeLessThan(20)
})

test.runIf(isLong)(
  'works on Node 24',
  () => {
    run('npm', 'install', '--prefer-offline', '--no-audit', '--no-fund', '--no-save', 'node@24')
    checkPrograms(join(project, 'node_modules', '.bin', 'node'))
  },
  300_000,
)
