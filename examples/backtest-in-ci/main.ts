// For CI, before contracts are merged: judge known sessions by them and fail if a decision differs from what is
// expected. Uses the contracts of govern-refunds. Needs COUNTERSIGN_API_KEY and COUNTERSIGN_API_URL.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { compileContracts } from '@countersign/sdk'

const compiled = compileContracts(fileURLToPath(new URL('../govern-refunds/contracts', import.meta.url)))
assert(compiled.ok, 'the contracts do not compile')
const fixtures = JSON.parse(readFileSync(new URL('cases.json', import.meta.url), 'utf8'))

const { COUNTERSIGN_API_URL: url, COUNTERSIGN_API_KEY: key } = process.env
const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
async function send(path: string, init: RequestInit = {}) {
  const reply = await fetch(`${url}${path}`, { ...init, headers })
  assert(reply.ok, `${path} answered ${reply.status}: ${await reply.clone().text()}`)
  return reply.json()
}

const run_id = `run-${randomUUID()}`
const plan = { compiled_session: compiled.compiled_session }
let { run } = await send('/api/v1/runs', {
  method: 'POST',
  body: JSON.stringify({ run_id, plan, against: { fixtures } }),
})
for (let tries = 0; run.status === 'queued' || run.status === 'running'; tries++) {
  assert(tries < 120, 'the run did not end in time')
  await sleep(500)
  run = (await send(`/api/v1/runs/${run_id}`)).run
}
assert.equal(run.status, 'done', run.error ?? '')
const { sessions, sessions_passed, calls, calls_blocked, divergences } = run.report
for (const { session, tool_name, expected, decision, remedy } of divergences) {
  console.log(`${session}: ${tool_name} expected ${expected}, got ${decision}. ${remedy ?? ''}`)
}
console.log(`${sessions_passed} of ${sessions} sessions as expected; ${calls_blocked} of ${calls} calls blocked`)
assert.deepEqual(divergences, [])
assert.equal(sessions_passed, sessions)
