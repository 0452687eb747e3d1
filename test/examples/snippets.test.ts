import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { calls, scriptedModel } from '../../examples/scripted-model.js'
import * as snippets from '../../packages/dashboard/src/text/snippets.js'
import { root } from '../support/files/tracked-files.js'
import { buildOnce } from '../support/process/command-line.js'
import { type Runtime, startRuntime } from '../support/runtime/runtime.js'

/** Inside the project, so that the imports of what is pasted are found. */
let folder: string
let runtime: Runtime
beforeAll(async () => {
  buildOnce()
  mkdirSync(join(root, 'build'), { recursive: true })
  folder = mkdtempSync(join(root, 'build', 'snippets-'))
  mkdirSync(join(folder, 'contracts'))
  writeFileSync(join(folder, 'contracts', 'issue_refund.yaml'), snippets.contractSnippet)
  runtime = await startRuntime()
})
afterAll(async () => {
  await runtime.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Pastes a snippet into a file and runs it with a model that asks for a refund. */
async function paste(name: string, code: string, amount: number): Promise<{ code: number | null; output: string }> {
  writeFileSync(join(folder, name), code)
  const model = await scriptedModel()
  model.say(calls('issue_refund', { amount }))
  const env = {
    PATH: process.env.PATH,
    OPENAI_API_KEY: 'none',
    OPENAI_BASE_URL: model.openaiUrl,
    COUNTERSIGN_API_KEY: runtime.key,
    COUNTERSIGN_API_URL: await runtime.instances[0].listen(),
  }
  const child = spawn(process.execPath, [name], { cwd: folder, env })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  const ended = await new Promise<number | null>((done) => child.once('close', done))
  await model.close()
  return { code: ended, output }
}

test('the contract and the agent that an empty dashboard shows run as pasted, and hold to the limit', async () => {
  const fine = await paste('agent.mjs', snippets.governSnippet, 40)
  expect(fine).toEqual({ code: 0, output: '{ refunded: 40 }\n' })
  const { rows } = { rows: await runtime.sql`select agent, status from sessions` }
  expect(rows).toMatchObject([{ agent: 'support' }])
  const tooMuch = await paste('agent.mjs', snippets.governSnippet, 900)
  expect(tooMuch.code).toBe(1)
  expect(tooMuch.output).toContain('argument_value_mismatch')
})

test('the snippets for watching and for workflows run as pasted', async () => {
  expect(await paste('watch.mjs', snippets.observeSnippet, 1)).toEqual({ code: 0, output: '' })
  const ends = '\nawait session.getWorkflowState().then(({ status }) => console.log(status))\nawait session.restore()'
  expect(await paste('flow.mjs', snippets.workflowSnippet + ends, 1)).toEqual({ code: 0, output: 'ACTIVE\n' })
})

test('the packages are had as the README says, and not from a registry where they are not', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const commands = snippets.installSnippet.split('\n').filter((line) => line.startsWith('npm '))
  expect(commands).toHaveLength(2)
  for (const command of commands) expect(readme).toContain(command)
  expect(snippets.installSnippet).not.toMatch(/npm install @countersign/)
})

test('the environment names the address where the SDK would not find it by itself', () => {
  expect(snippets.environmentSnippet('csk_x', 'http://127.0.0.1:4319')).toBe('export COUNTERSIGN_API_KEY=csk_x')
  expect(snippets.environmentSnippet('csk_x', 'https://c.example')).toContain('COUNTERSIGN_API_URL=https://c.example')
})
