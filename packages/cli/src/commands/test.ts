import { on } from 'node:events'
import { existsSync, readdirSync, readFileSync, watch, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type Plan, readStories, runStory } from '@countersign/engine'
import { prepareContracts, ReplayConfigError } from '@countersign/sdk'
import { loadPolicyEvaluator } from '../policy/load-policy-evaluator.js'
import { junitOfStories, type StoryResult } from '../report/junit.js'
import { type Command, type Terminal, UsageError } from '../terminal/command.js'

export const test: Command = {
  usage: ['test FOLDER [--watch] [--junit FILE] [--json]'],
  summary: 'run the stories (*.test.yaml) beside contracts: without a service, a key or a model',
  help: () =>
    '--watch runs them again whenever a file in FOLDER changes, until you end it.\nExit codes: 0 every story came as expected; 1 one did not, or the contracts or stories are not usable; 2 wrong usage.',
  run: async (args, { print, note }) => {
    const given = readArguments(args)
    if (!given.watch) return runOnce(given, { print, note })
    for await (const _ of changesIn(given.folder)) {
      await runOnce(given, { print, note })
      note('waiting for a change; end with Ctrl+C')
    }
    return 0
  },
}

async function runOnce({ folder, junit, json }: Given, { print, note }: Terminal): Promise<number> {
  try {
    const { plan } = prepareContracts(folder, { policy: await loadPolicyEvaluator() })
    const results = resultsOf(folder, plan)
    if (junit !== undefined) writeFileSync(junit, junitOfStories(results))
    const failed = results.filter(({ problems }) => problems.length > 0)
    if (json) print(JSON.stringify({ stories: results.length, failed: failed.length, results }))
    else {
      for (const { file, story, problems } of failed) print(`failed ${file}: ${story}\n  ${problems.join('\n  ')}`)
      print(`${results.length - failed.length} of ${results.length} stories as expected`)
    }
    return failed.length === 0 ? 0 : 1
  } catch (error) {
    if (!(error instanceof ReplayConfigError || error instanceof UnusableStories)) throw error
    if (json) print(JSON.stringify({ error: error.message }))
    else note(`error ${error.message}`)
    return 1
  }
}

/** Now, and whenever something in the folder has changed and been still for a moment: editors write in several steps. */
async function* changesIn(folder: string): AsyncGenerator<void> {
  const changes = watch(folder, { recursive: true })
  try {
    yield
    for await (const _ of on(changes, 'change')) {
      await sleep(SETTLE_MS)
      yield
    }
  } finally {
    changes.close()
  }
}

const SETTLE_MS = 50

class UnusableStories extends Error {}

type Given = ReturnType<typeof readArguments>

function readArguments(args: readonly string[]) {
  const options = { watch: { type: 'boolean' }, junit: { type: 'string' }, json: { type: 'boolean' } } as const
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
  const [folder, ...rest] = positionals
  if (folder === undefined || rest.length > 0) throw new UsageError('expected one folder with contracts')
  const { junit } = values
  if (junit !== undefined && !existsSync(dirname(junit)))
    throw new UsageError(`--junit: the folder ${dirname(junit)} does not exist`)
  if (values.watch && junit !== undefined)
    throw new UsageError('--junit is for CI, and --watch is not: use one of them')
  if (values.watch && !existsSync(folder)) throw new UsageError(`there is no folder ${folder}`)
  return { folder, junit, json: values.json === true, watch: values.watch === true }
}

function resultsOf(folder: string, plan: Plan): StoryResult[] {
  const files = readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter(
      (entry) => entry.isFile() && /\.test\.ya?ml$/.test(entry.name) && !entry.parentPath.includes('node_modules'),
    )
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
  if (files.length === 0)
    throw new UnusableStories(`${folder} contains no story: write one into a file such as refunds.test.yaml`)
  return files.flatMap((path) => {
    const file = relative(folder, path)
    const read = readStories({ file, text: readFileSync(path, 'utf8') })
    if (!read.ok) throw new UnusableStories(read.problems.join('\n'))
    return read.stories.map((story) => ({
      file,
      story: story.name,
      problems: runStory(story, plan).map(({ step, message }) => `step ${step}: ${message}`),
    }))
  })
}
