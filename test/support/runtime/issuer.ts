import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import type { Sql } from '../../../packages/server/src/postgres/sql.js'
import { insertIssuer } from '../../../packages/server/src/store/accounts/issuers.js'

/** An issuer of principal tokens with a real server for its keys, on loopback. */
export interface TestIssuer {
  readonly name: string
  readonly jwksUri: string
  readonly audience: string
  /** How often its keys were read. */
  reads(): number
  /** A new key in place of the old one. */
  rotate(): Promise<void>
  /** What is answered in place of the keys; null: the keys. */
  answer(instead: { readonly status?: number; readonly body?: string; readonly location?: string } | null): void
  /** A token as it should be, but for what is given. Undefined members are left out. */
  token(claims?: Readonly<Record<string, unknown>>, header?: Readonly<Record<string, string>>): Promise<string>
  /** The public key, as its server tells it. */
  publicKey(): JWK
  close(): Promise<void>
}

const ALG = 'ES256'

export async function startIssuer(name = 'https://id.example.test', audience = 'countersign'): Promise<TestIssuer> {
  let reads = 0
  let made = 0
  let instead: Parameters<TestIssuer['answer']>[0] = null
  let key: { readonly privateKey: CryptoKey; readonly jwk: JWK } = await makeKey()

  async function makeKey() {
    const { publicKey, privateKey } = await generateKeyPair(ALG)
    made++
    return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid: `key-${made}`, alg: ALG } }
  }

  const server = createServer((_, response) => {
    reads++
    const { status = 200, body = JSON.stringify({ keys: [key.jwk] }), location } = instead ?? {}
    response.writeHead(status, { 'content-type': 'application/json', ...(location !== undefined && { location }) })
    response.end(body)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  return {
    name,
    jwksUri: `http://127.0.0.1:${port}/jwks.json`,
    audience,
    reads: () => reads,
    rotate: async () => {
      key = await makeKey()
    },
    answer: (given) => {
      instead = given
    },
    token: (claims = {}, header = {}) =>
      new SignJWT({ ...claimsOf(name, audience), ...claims })
        .setProtectedHeader({ alg: ALG, kid: key.jwk.kid ?? '', ...header })
        .sign(key.privateKey),
    publicKey: () => key.jwk,
    close: () => new Promise((done) => server.close(() => done())),
  }
}

/** Lists an issuer for a tenant, as an operator does. */
export async function listIssuer(
  sql: Sql,
  tenantId: string,
  issuer: Pick<TestIssuer, 'name' | 'jwksUri' | 'audience'>,
) {
  const { name, jwksUri, audience } = issuer
  await insertIssuer(sql, {
    ...{ tenantId, issuer: name, jwksUri, audience, algorithms: ['ES256', 'RS256'], groupsClaim: 'groups' },
  })
}

/** What a good token says, ten minutes long. */
export function claimsOf(iss: string, aud: string, nowMs = Date.now()) {
  const iat = Math.floor(nowMs / 1_000)
  return { iss, aud, sub: 'alice', jti: crypto.randomUUID(), iat, exp: iat + 600 }
}
