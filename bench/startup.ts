import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type PreparedContracts, prepareContracts, type ReplayOptions, replay } from '@countersign/sdk'

/**
 * npm run bench -- startup: what does a program wait for before its first governed call? Imports the SDK and `openai`
 * in turns, each in a new process, and compares the processor time that they add to a bare Node. Then opens sessions
 * with a folder of 50 contracts: the first compiles them, the others find them compiled.
 */
const IMPORTS = 15
const SESSIONS = 300
const CONTRACTS = 50

const root = fileURLToPath(new URL('..', import.meta.url))
const bare = measureImport(null)
const [sdk, openai] = [measureImport('@countersign/sdk'), measureImport('openai')]
const importRatio = (sdk.cpuMs - bare.cpuMs) / (openai.cpuMs - bare.cpuMs)
console.log(`bare Node ${describe(bare)}; SDK ${describe(sdk)}; openai ${describe(openai)}`)

const folder = mkdtempSync(join(tmpdir(), 'countersign-startup-'))
try {
  writeContracts(folder)
  const first = measureSession({ contractsDir: folder })
  const second = median(Array.from({ length: SESSIONS }, () => measureSession({ contractsDir: folder })))
  const contracts: PreparedContracts = prepareContracts(folder)
  const prepared = median(Array.from({ length: SESSIONS }, () => measureSession({ contracts })))
  console.log(
    `${CONTRACTS} contracts: first session ${shown(first)} ms, then ${shown(second)}, prepared ${shown(prepared)}`,
  )
  console.log(
    JSON.stringify({
      bench: 'startup',
      import_ratio: round(importRatio),
      sdk_import_cpu_ms: round(sdk.cpuMs - bare.cpuMs),
      openai_import_cpu_ms: round(openai.cpuMs - bare.cpuMs),
      sdk_import_mb: round(sdk.megabytes - bare.megabytes),
      openai_import_mb: round(openai.megabytes - bare.megabytes),
      first_session_ms: round(first),
      second_session_ms: round(second),
      prepared_session_ms: round(prepared),
    }),
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}

interface Import {
  cpuMs: number
  megabytes: number
}

/** The median of several processes, so that one that the machine slowed does not count. */
function measureImport(name: string | null): Import {
  const load = name === null ? '' : `await import(${JSON.stringify(name)});`
  const program = `${load} const { user, system } = process.cpuUsage();
    console.log(JSON.stringify({ cpuMs: (user + system) / 1000, megabytes: process.memoryUsage.rss() / 1e6 }))`
  const runs = Array.from({ length: IMPORTS }, (): Import => {
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      cwd: root,
      encoding: 'utf8',
    })
    return JSON.parse(stdout)
  })
  return { cpuMs: median(runs.map(({ cpuMs }) => cpuMs)), megabytes: median(runs.map(({ megabytes }) => megabytes)) }
}

function writeContracts(folder: string): void {
  for (let index = 0; index < CONTRACTS; index += 1) {
    const text = `tool: tool_${index}
side_effect: write
arguments: { type: object, required: [id], properties: { id: { type: string }, amount: { type: number } } }
argument_value_invariants:
  - { path: $.id, regex: '^[A-Z]-[0-9]+$' }
  - { path: $.amount, lte: ${100 + index} }
`
    writeFileSync(join(folder, `tool_${index}.yaml`), text)
  }
}

/** The processor time of opening one session. */
function measureSession(options: ReplayOptions): number {
  const client = { chat: { completions: { create: async () => ({}) } } }
  const startedMs = performance.now()
  replay(client, options)
  return performance.now() - startedMs
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}

function shown(value: number): string {
  return value.toFixed(1)
}

function describe({ cpuMs, megabytes }: Import): string {
  return `${shown(cpuMs)} ms, ${shown(megabytes)} MB`
}
