// npm test: installs what is missing, then runs every stage in order, some side by side. The first failure ends the run
// and shows a fix.
// The last line is always `N passed, M failed`.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { FIXES } from './fixes.mjs'
import { frameworksAreInstalled } from './frameworks.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const long = process.argv.includes('--long')
const results = `${root}build/test-results.json`

const vitest = ['npx', 'vitest', 'run', '--reporter=default', '--reporter=json', `--outputFile.json=${results}`]
/** Those in one line need nothing of each other, and run side by side: two of them mostly wait for the network. */
const STAGES = [
  [
    {
      name: 'install',
      what: 'the packages in the lockfile',
      command: ['npm', 'ci', '--no-audit', '--no-fund', '--loglevel=error'],
      skip: () => existsSync(`${root}node_modules/.package-lock.json`),
    },
  ],
  [
    {
      name: 'build',
      what: 'packages and dashboard',
      command: ['npm', 'run', '--silent', 'build'],
    },
    {
      name: 'frameworks',
      what: 'the agent frameworks that only tests and examples need',
      command: ['node', 'scripts/frameworks.mjs'],
      skip: frameworksAreInstalled,
    },
    {
      name: 'chromium',
      what: 'a browser for the browser tests, which are skipped without one',
      command: ['node', 'scripts/chromium.mjs'],
    },
  ],
  [
    {
      name: 'types',
      what: 'tests, examples, benchmarks and scripts',
      command: ['npx', 'tsc', '-p', 'tsconfig.json'],
    },
  ],
  [
    {
      name: 'framework types',
      what: 'adapters against the types of their frameworks',
      command: ['npx', 'tsc', '-p', 'test/frameworks'],
    },
  ],
  [{ name: 'lint', what: 'style', command: ['npm', 'run', '--silent', 'lint'] }],
  [
    {
      name: 'tests',
      what: long
        ? 'unit, server, scenarios, faults, frameworks, browser, examples; long rounds'
        : 'unit, server, scenarios, faults, frameworks, browser, examples',
      command: vitest,
    },
  ],
  ...(long
    ? [
        [
          {
            name: 'packed',
            what: 'the packed tarballs installed in an empty folder',
            command: ['node', 'scripts/packed.mjs'],
          },
        ],
      ]
    : []),
]

const seconds = (sinceMs) => ((Date.now() - sinceMs) / 1000).toFixed(1)

/** True when it passed. What stages print that run side by side is shown when each has ended. */
async function runStage({ name, what, command: [program, ...args] }, isAlone) {
  const startedMs = Date.now()
  const heading = `\n== ${name}: ${what}`
  if (isAlone) console.log(heading)
  const child = spawn(program, args, {
    cwd: root,
    stdio: ['ignore', isAlone ? 'inherit' : 'pipe', isAlone ? 'inherit' : 'pipe'],
    // The build stage has run already, so no test has to build again.
    env: { ...process.env, COUNTERSIGN_TEST_BUILT: 'yes', ...(long ? { COUNTERSIGN_TEST_ROUNDS: 'long' } : {}) },
  })
  const printed = []
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => printed.push(chunk))
  const passed = await new Promise((done) => {
    child.once('error', () => done(false))
    child.once('close', (code) => done(code === 0))
  })
  if (!isAlone) process.stdout.write(`${heading}\n${Buffer.concat(printed)}`)
  if (passed) console.log(`== ${name} passed in ${seconds(startedMs)} s`)
  return passed
}

/** What vitest counted; a file that could not be loaded counts as one failure. */
function countTests() {
  try {
    const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(results, 'utf8'))
    const unloaded = testResults.filter((file) => file.status === 'failed' && file.assertionResults.length === 0).length
    return { passed: numPassedTests, failed: numFailedTests + unloaded }
  } catch {
    return { passed: 0, failed: 0 }
  }
}

const startedMs = Date.now()
mkdirSync(`${root}build`, { recursive: true })
rmSync(results, { force: true })
let broken = null
for (const line of STAGES) {
  const stages = line.filter((stage) => !stage.skip?.())
  const passed = await Promise.all(stages.map((stage) => runStage(stage, stages.length === 1)))
  broken = stages.find((_, at) => !passed[at]) ?? null
  if (broken !== null) break
}
const { passed, failed } = countTests()
if (broken === null) console.log(`\n== every stage passed in ${seconds(startedMs)} s`)
else
  console.log(
    `\n== ${broken.name} failed after ${seconds(startedMs)} s. What to do: ${FIXES[broken.name] ?? FIXES.compile}`,
  )
// A stage that fails before or after the tests is a failure, too.
console.log(`${passed} passed, ${broken === null ? failed : Math.max(failed, 1)} failed`)
process.exitCode = broken === null && failed === 0 ? 0 : 1
