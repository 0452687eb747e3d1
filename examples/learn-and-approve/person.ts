import assert from 'node:assert/strict'

/** Does what a person does in the dashboard, through the same API. */
export async function signIn() {
  const { COUNTERSIGN_API_URL: url = '', COUNTERSIGN_EMAIL: email, COUNTERSIGN_PASSWORD: password } = process.env
  const origin = new URL(url).origin
  const send = async (method: 'GET' | 'POST', path: string, cookie: string, body?: unknown) => {
    const headers = { origin, cookie, ...(body !== undefined && { 'content-type': 'application/json' }) }
    const reply = await fetch(`${url}${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    assert(reply.ok, `${path} answered ${reply.status}: ${await reply.clone().text()}`)
    return reply
  }
  const signedIn = await send('POST', '/api/auth/login', '', { email, password })
  const cookie = signedIn.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')
  return {
    get: async (path: string) => (await send('GET', path, cookie)).json(),
    post: async (path: string, body: unknown) => (await send('POST', path, cookie, body)).json(),
  }
}
