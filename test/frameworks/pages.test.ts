import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { docBlocks, FRAMEWORK_PAGES } from '../support/files/doc-blocks.js'
import { root } from '../support/files/tracked-files.js'
import { buildOnce } from '../support/process/command-line.js'
import { runExample } from '../support/process/example.js'
import { withRuntime } from '../support/runtime/with-runtime.js'

const { runtime } = await withRuntime()
const blocks = docBlocks().filter(({ page }) => FRAMEWORK_PAGES.includes(page))

buildOnce()
/** Beside the examples, where the pages tell their readers to work. */
const base = join(root, 'examples/frameworks/mine')
mkdirSync(base, { recursive: true })
const folder = mkdtempSync(join(base, 'pages-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function put(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}

test('the code of the pages compiles against the types of the frameworks', () => {
  const code = blocks.filter(({ language }) => language === 'ts')
  expect(code.length).toBeGreaterThanOrEqual(FRAMEWORK_PAGES.length)
  for (const [index, { text }] of code.entries()) put(`compile/${index}.ts`, text)
  const config = {
    extends: join(root, 'test/frameworks/tsconfig.json'),
    compilerOptions: { rootDir: root, noUnusedLocals: false },
    include: ['.'],
    exclude: [],
    references: [],
  }
  put('compile/tsconfig.json', JSON.stringify(config))
  const compiler = join(root, 'node_modules/.bin/tsc')
  try {
    execFileSync(compiler, ['-p', join(folder, 'compile')], { encoding: 'utf8' })
  } catch (error) {
    throw new Error(`a block does not compile:\n${String((error as { stdout?: unknown }).stdout)}`)
  }
})

/** Runs a program of the project with the packages as they are built. */
function start(file: string, cwd: string, env: Record<string, string>) {
  const child = spawn(process.execPath, ['--import', 'tsx', file], { cwd, env: { PATH: process.env.PATH, ...env } })
  let output = ''
  const ended = new Promise<string>((done) => child.once('close', () => done(output)))
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  return { child, ended, output: () => output }
}

test.for(FRAMEWORK_PAGES)('the agent of %s prints what the page shows', async (page) => {
  const own = blocks.filter((block) => block.page === page)
  for (const { file, text } of own) if (file !== null) put(join(page, file), text)
  const model = start('examples/tutorial-model.ts', root, { PORT: '0' })
  try {
    await expect.poll(() => model.output()).toMatch(/http:\S+/)
    const { ended } = start('agent.ts', join(folder, page), {
      OPENAI_BASE_URL: /http:\S+/.exec(model.output())?.[0] ?? '',
      OPENAI_API_KEY: 'none',
      COUNTERSIGN_API_KEY: runtime.key,
      COUNTERSIGN_API_URL: await runtime.instances[0].listen(),
    })
    expect(await ended).toBe(own.find(({ language }) => language === 'text')?.text)
  } finally {
    model.child.kill('SIGTERM')
  }
})

/** Each checks itself; here only that it ran to its end is looked at. */
test.for(['ai-sdk', 'langchain', 'openai-agents'])('example %s on the service', async (name) => {
  const apiUrl = await runtime.instances[0].listen()
  const said = await runExample(`frameworks/${name}/main.ts`, { apiUrl, apiKey: runtime.key })
  expect(said).toContain('refunded: 40')
})
