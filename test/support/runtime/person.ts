import { randomBytes } from 'node:crypto'
import type { Reply, RequestBody, RouteName, Routes } from '@countersign/protocol'
import { routeRequest, TEST_ORIGIN } from './runtime.js'

export interface Reaction<Body> {
  readonly status: number
  readonly headers: Headers
  readonly body: Body
  readonly text: string
  readonly code: string | undefined
}

/** A person at a browser: keeps cookies, sends the Origin of the page. */
export class Person {
  readonly cookies = new Map<string, string>()
  readonly email: string
  readonly password = `correct horse ${randomBytes(6).toString('hex')}`
  readonly #send: typeof fetch
  readonly #origin: string | null

  constructor(
    send: typeof fetch,
    { email = `person-${randomBytes(6).toString('hex')}@example.test`, origin = TEST_ORIGIN as string | null } = {},
  ) {
    this.#send = send
    this.email = email
    this.#origin = origin
  }

  async call<Name extends RouteName>(
    name: Name,
    given: {
      params?: Record<string, string>
      query?: Record<string, string>
      body?: RequestBody<Routes[Name]>
      rawBody?: string
      headers?: Record<string, string>
    } = {},
  ): Promise<Reaction<Reply<Routes[Name]>>> {
    const cookie = [...this.cookies].map(([key, value]) => `${key}=${value}`).join('; ')
    const response = await this.#send(
      routeRequest(name, {
        ...given,
        key: null,
        headers: {
          ...(this.#origin === null ? {} : { origin: this.#origin }),
          ...(cookie === '' ? {} : { cookie }),
          ...given.headers,
        },
      }),
    )
    for (const line of response.headers.getSetCookie()) this.#keep(line)
    const text = await response.text()
    const body = text === '' ? null : JSON.parse(text)
    return { status: response.status, headers: response.headers, body, text, code: body?.code }
  }

  #keep(line: string): void {
    const [pair = '', ...flags] = line.split('; ')
    const [name = '', value = ''] = pair.split('=', 2)
    if (flags.includes('Max-Age=0')) this.cookies.delete(name)
    else this.cookies.set(name, value)
  }

  signup(more: Record<string, unknown> = {}) {
    return this.call('signup', { body: { email: this.email, password: this.password, ...more } })
  }

  login(password = this.password) {
    return this.call('login', { body: { email: this.email, password } })
  }
}
