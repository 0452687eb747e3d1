import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'

/** A person at the provider. */
export interface OidcAccount {
  readonly email: string
  readonly email_verified: boolean
  readonly name?: string
  readonly groups?: readonly string[]
}

export interface LoopbackOidc {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** People by their subject; what is changed here counts from the next sign-in on. */
  readonly accounts: Map<string, OidcAccount>
  /** Does not answer from now on, until it is called again with false. */
  away(isAway: boolean): void
  close(): Promise<void>
}

/**
 * A certified OpenID provider on loopback, whose people sign in by their subject and any password. Where it sends them back
 * may be known only when the first one comes.
 */
export async function startOidcProvider(redirectUri: string | (() => string)): Promise<LoopbackOidc> {
  const accounts = new Map<string, OidcAccount>()
  const [clientId, clientSecret] = ['countersign', 'a client secret of a test']
  let isAway = false
  let answer: ReturnType<Provider['callback']> | null = null
  const server = createServer((incoming, outgoing) => {
    answer ??= createProvider().callback()
    if (isAway) outgoing.writeHead(503).end()
    else answer(incoming, outgoing)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const createProvider = () =>
    new Provider(issuer, {
      clients: [
        {
          client_id: clientId,
          client_secret: clientSecret,
          redirect_uris: [typeof redirectUri === 'string' ? redirectUri : redirectUri()],
        },
      ],
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups'] },
      findAccount: async (_: unknown, sub: string) => ({
        accountId: sub,
        claims: () => ({ sub, ...accounts.get(sub) }),
      }),
      cookies: { keys: ['a cookie key of a test'] },
      pkce: { required: () => true },
      ttl: { AccessToken: 60, AuthorizationCode: 60, IdToken: 60, Interaction: 60, Session: 60, Grant: 60 },
    })
  return {
    issuer,
    clientId,
    clientSecret,
    accounts,
    away: (value) => {
      isAway = value
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

/**
 * Signs in at the provider and agrees, as a browser would: follows redirects and sends its forms. Returns the address to
 * which the provider sends the person back.
 */
export async function signInAt(start: string, subject: string): Promise<string> {
  const jar = new Map<string, string>()
  let url = start
  let form: URLSearchParams | null = null
  for (let step = 0; step < 12; step++) {
    const response: Response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form === null ? {} : { method: 'POST', body: form }),
    })
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';')
      const at = pair.indexOf('=')
      jar.set(pair.slice(0, at), pair.slice(at + 1))
    }
    form = null
    const location = response.headers.get('location')
    if (location !== null) {
      url = new URL(location, url).href
      if (new URL(url).origin !== new URL(start).origin) return url
      continue
    }
    const page = await response.text()
    const action = /<form[^>]+action="([^"]+)"/.exec(page)?.[1]
    const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1]
    if (action === undefined || prompt === undefined) throw new Error(`no form at ${url}: ${page.slice(0, 500)}`)
    url = new URL(action, url).href
    form = new URLSearchParams(prompt === 'login' ? { prompt, login: subject, password: 'any' } : { prompt })
  }
  throw new Error('the provider goes round in circles')
}
