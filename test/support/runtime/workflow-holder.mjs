// A program that answers offers of workflows, has a call allowed for each, and is killed while it waits for its tools.
// Plain fetch, so that it starts at once; the bodies come from the test, on standard input.
import { text } from 'node:stream/consumers'

const { url, key, toolUrl, jobs } = JSON.parse(await text(process.stdin))

async function post(to, body) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const response = await fetch(to, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${to} answered ${response.status}: ${await response.text()}`)
  return response.json()
}

async function work({ sessionId, create, preflight, propose }) {
  const sessions = `${url}/api/v1/replay/sessions`
  await post(sessions, create)
  await post(`${sessions}/${sessionId}/preflight`, preflight)
  const { decisions } = await post(`${sessions}/${sessionId}/proposals`, propose)
  // The tool answers only after this program is gone.
  await post(toolUrl, { sessionId, decision: decisions[0] })
}

await Promise.all(jobs.map(work))
