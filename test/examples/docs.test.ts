import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { COMMANDS } from '../../packages/cli/src/commands.js'
import { compileContracts } from '../../packages/sdk/src/index.js'
import { type DocBlock, docBlocks, FRAMEWORK_PAGES } from '../support/files/doc-blocks.js'
import { root } from '../support/files/tracked-files.js'
import { buildOnce } from '../support/process/command-line.js'
import { type Runtime, startRuntime } from '../support/runtime/runtime.js'

const blocks = docBlocks()
const inLanguage = (language: string) => blocks.filter((block) => block.language === language)
const pages = [...new Set(blocks.map(({ page }) => page))]
const contractsOf = (page: string) =>
  blocks.filter((block) => block.page === page && block.file?.startsWith('contracts/'))

/** Inside the project, so that imports are found as a program in it would find them. */
let folder: string
let runtime: Runtime
beforeAll(async () => {
  buildOnce()
  mkdirSync(join(root, 'build'), { recursive: true })
  folder = mkdtempSync(join(root, 'build', 'docs-'))
  runtime = await startRuntime()
})
afterAll(async () => {
  await runtime.close()
  rmSync(folder, { recursive: true, force: true })
})

function put(under: string, { file, text }: DocBlock): void {
  const path = join(folder, under, file ?? 'block.ts')
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

test('there is code in the pages to check', () => {
  expect(inLanguage('ts').length).toBeGreaterThan(5)
  expect(inLanguage('yaml').length).toBeGreaterThan(8)
  expect(inLanguage('sh').length).toBeGreaterThan(5)
})

test('every TypeScript block compiles under the strict rules of the project', () => {
  const code = inLanguage('ts').filter(({ page }) => !FRAMEWORK_PAGES.includes(page))
  for (const [index, block] of code.entries()) put(`compile/${index}`, { ...block, file: 'block.ts' })
  const config = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: { types: ['node'], rootDir: root, noUnusedLocals: false },
    include: ['.'],
    references: [],
  }
  writeFileSync(join(folder, 'compile/tsconfig.json'), JSON.stringify(config))
  try {
    execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', join(folder, 'compile')], { encoding: 'utf8' })
  } catch (error) {
    const said = String((error as { stdout?: unknown }).stdout)
    const named = said.replaceAll(
      /[^\s(]*compile\/([0-9]+)\/block\.ts/g,
      (_, index) => code[Number(index)]?.place ?? '',
    )
    throw new Error(`a block does not compile:\n${named}`)
  }
})

describe.each(pages.filter((page) => contractsOf(page).length > 0))('%s', (page) => {
  test('its contracts compile together', () => {
    for (const block of contractsOf(page)) put(page, block)
    const result = compileContracts(join(folder, page, 'contracts'))
    expect(result.ok ? [] : result.errors).toEqual([])
  })
})

test('every command in a shell block exists', () => {
  const { scripts } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
  const known = (block: DocBlock) =>
    [...block.text.matchAll(/npx countersign (\w+)|npm run ([\w:]+)|npm (start|test)|npx tsx (examples\S+)/g)].every(
      ([, command, script, alone, example]) =>
        (command === undefined || command in COMMANDS) &&
        (script === undefined || script in scripts) &&
        (alone === undefined || alone in scripts) &&
        (example === undefined || readFileSync(`${root}${example}`, 'utf8') !== ''),
    )
  expect(
    inLanguage('sh')
      .filter((block) => !known(block))
      .map(({ place }) => place),
  ).toEqual([])
})

/** Runs a program to its end and returns what it printed. */
function run(file: string, cwd: string, env: Record<string, string>): Promise<string> {
  const child = spawn(process.execPath, ['--import', 'tsx', file], { cwd, env: { PATH: process.env.PATH, ...env } })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  return new Promise((done, fail) =>
    child.once('close', (code) =>
      code === 0 ? done(output) : fail(new Error(`${file} ended with ${code}:\n${output}`)),
    ),
  )
}

test('the agent of the tutorial runs against its scripted model and prints what the page shows', async () => {
  for (const block of blocks.filter(({ page, file }) => page === 'docs/tutorial.md' && file !== null))
    put('tutorial', block)
  const model = spawn(process.execPath, ['--import', 'tsx', 'examples/tutorial-model.ts'], {
    cwd: root,
    env: { PATH: process.env.PATH, PORT: '0' },
  })
  try {
    const url = await new Promise<string>((done, fail) => {
      model.stdout.on('data', (chunk) => {
        const found = /http:\S+/.exec(String(chunk))
        if (found) done(found[0])
      })
      model.once('close', () => fail(new Error('the model did not start')))
    })
    const output = await run('agent.ts', join(folder, 'tutorial'), {
      OPENAI_BASE_URL: url,
      OPENAI_API_KEY: 'none',
      COUNTERSIGN_API_KEY: runtime.key,
      COUNTERSIGN_API_URL: await runtime.instances[0].listen(),
    })
    const shown = blocks.find(({ page, language }) => page === 'docs/tutorial.md' && language === 'text')
    const withoutRemedy = (text: string) =>
      text
        .split('\n')
        .map((line) => line.replace(/(envelope_violation\.|session: ses_|"amount":400\} -> ).*/, '$1'))
        .filter((line) => line.trim() !== '')
    expect(withoutRemedy(output)).toEqual(withoutRemedy(shown?.text ?? ''))
    expect(output).toContain('at most')
  } finally {
    model.kill('SIGTERM')
  }
})
