// A program that joins a workflow, has a call allowed, and runs its tool until it is killed. Plain fetch, so that it
// starts at once; the bodies come from the test. Prints what the server decided, and then works on.
const { url, key, sessionId, create, preflight, propose } = JSON.parse(process.argv[2] ?? '{}')

async function post(path, body) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const response = await fetch(`${url}/api/v1/replay/sessions${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`)
  return response.json()
}

await post('', create)
await post(`/${sessionId}/preflight`, preflight)
const { decisions } = await post(`/${sessionId}/proposals`, propose)
console.log(JSON.stringify(decisions))
setInterval(() => {}, 1_000)
