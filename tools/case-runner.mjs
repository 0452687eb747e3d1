// A Stryker test runner for the cases of test/cases: each case is one test, all in one process. Starting a test
// framework for every mutant takes seconds; running a case takes less than a millisecond.

import { pathToFileURL } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { declareClassPlugin, PluginKind } from '@stryker-mutator/api/plugin'
import { register } from 'tsx/esm/api'

class CaseRunner {
  #tests = new Map()
  #stryker = {}

  capabilities() {
    return { reloadEnvironment: false }
  }

  /** The worker stands in the sandbox, whose sources hold every mutant behind a switch. */
  async init() {
    const sandbox = `${process.cwd()}/`
    // Its paths make the packages those of the sandbox.
    register({ tsconfig: `${sandbox}tools/tsconfig.mutate.json` })
    const load = (file) => import(pathToFileURL(`${sandbox}test/support/cases/${file}`).href)
    const { compareTurn, isTurn, loadCases } = await load('cases.ts')
    const { runCaseOnEngine } = await load('run-case.ts')
    globalThis.__stryker__ ??= {}
    this.#stryker = globalThis.__stryker__
    for (const item of loadCases('engine')) {
      const steps = item.steps.filter(isTurn)
      this.#tests.set(`${item.file} ${item.name}`, () => {
        const { turns } = runCaseOnEngine(item)
        steps.forEach((step, at) => {
          const { expected, seen } = compareTurn(step, turns[at])
          if (!isDeepStrictEqual(expected, seen)) throw new Error(JSON.stringify({ expected, seen }))
        })
      })
    }
  }

  async dryRun() {
    const tests = []
    for (const [id, run] of this.#tests) {
      this.#stryker.currentTestId = id
      const startedMs = performance.now()
      const failure = attempt(run)
      const about = { id, name: id, timeSpentMs: performance.now() - startedMs }
      tests.push(failure === null ? { ...about, status: 0 } : { ...about, status: 1, failureMessage: failure })
    }
    this.#stryker.currentTestId = undefined
    return { status: 'complete', tests, mutantCoverage: this.#stryker.mutantCoverage }
  }

  async mutantRun({ activeMutant, testFilter, hitLimit }) {
    const chosen = testFilter ?? [...this.#tests.keys()]
    Object.assign(this.#stryker, { activeMutant: activeMutant.id, hitCount: hitLimit && 0, hitLimit })
    try {
      for (const [at, id] of chosen.entries()) {
        const failure = attempt(this.#tests.get(id))
        if (failure === null) continue
        if (this.#stryker.hitCount > hitLimit) return { status: 'timeout', reason: failure }
        return { status: 'killed', killedBy: [id], failureMessage: failure, nrOfTests: at + 1 }
      }
      return { status: 'survived', nrOfTests: chosen.length }
    } finally {
      Object.assign(this.#stryker, { activeMutant: undefined, hitCount: undefined, hitLimit: undefined })
    }
  }
}

function attempt(run) {
  try {
    run()
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

export const strykerPlugins = [declareClassPlugin(PluginKind.TestRunner, 'cases', CaseRunner)]
