import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { useOwnTempFolder } from './scripts/own-temp-folder.mjs'

useOwnTempFolder()

const source = (name: string) => fileURLToPath(new URL(`./packages/${name}/src/index.ts`, import.meta.url))

const adapter = (name: string) =>
  fileURLToPath(new URL(`./packages/sdk/src/adapters/${name}/index.ts`, import.meta.url))

/** Tests run on the sources, so that nothing has to be built first. */
export const alias = {
  '@countersign/protocol': source('protocol'),
  '@countersign/engine': source('engine'),
  '@countersign/server': source('server'),
  '@countersign/sdk/ai': adapter('ai'),
  '@countersign/sdk/claude': adapter('claude'),
  '@countersign/sdk/langchain': adapter('langchain'),
  '@countersign/sdk/openai-agents': adapter('openai-agents'),
  '@countersign/sdk': source('sdk'),
  '@countersign/gateway': source('gateway'),
}

/** Patience costs nothing where things go well: it is for a machine that is slow, and busy with other work. */
const expect = { poll: { timeout: 30_000 } }

/**
 * A worker keeps the modules it has loaded for its next file: loading the server takes 3 s of processor time, as much as
 * most files take. No test may rely on a module being new. A worker serves one project, so there are few of them.
 */
const project = (name: string, include: string[], options: Record<string, unknown> = {}) => ({
  resolve: { alias },
  test: {
    name,
    include,
    pool: 'forks' as const,
    isolate: false,
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect,
    ...options,
  },
})

const postgres = './test/support/postgres/postgres-setup.ts'
const folders = (...names: string[]) => names.map((name) => `test/${name}/**/*.test.ts`)

export default defineConfig({
  test: {
    // One more than there are cores: a file often waits for a process, a browser or a timeout. Left to itself, Vitest keeps
    // a core free, and on two cores it would run one file at a time.
    maxWorkers: availableParallelism() + 1,
    // The projects share what is transformed, in node_modules. Without it each transforms the whole house again.
    experimental: { fsModuleCache: true },
    projects: [
      project('unit', ['packages/*/src/**/*.test.ts', 'test/*.test.ts', ...folders('cases', 'conformance')], {
        setupFiles: ['./test/support/data/seeded-properties.ts'],
      }),
      // All that needs a PostgreSQL, which they share.
      project('server', folders('server', 'scenarios', 'faults', 'browser', 'examples'), {
        globalSetup: [postgres],
        // Every statement that the service sends is read.
        setupFiles: ['./test/support/statements/watch-statements.ts'],
      }),
      project('frameworks', folders('frameworks'), {
        globalSetup: ['./test/frameworks/frameworks-setup.ts', postgres],
      }),
    ],
  },
})
