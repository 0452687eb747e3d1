import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  ClientSecretBasic,
  type Configuration,
  calculatePKCECodeChallenge,
  clockTolerance,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  None,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client'
import type { OidcFlow } from './crypto/oidc-flows.js'
import type { OidcProvider } from './oidc-file.js'

/** The provider did not answer, or not as one. */
export class ProviderAway extends Error {
  override name = 'ProviderAway'
}

/** Who a person is, as the provider says. */
export interface OidcPerson {
  readonly issuer: string
  readonly subject: string
  readonly email: string | null
  readonly emailVerified: boolean
  readonly name: string | null
  readonly groups: readonly string[]
}

export interface OidcClient {
  readonly provider: OidcProvider
  /** Where the person signs in, and what must come back. */
  begin(redirectUri: string): Promise<{ url: URL; flow: Pick<OidcFlow, 'state' | 'nonce' | 'verifier'> }>
  /** Exchanges the code of the address that the person came back to. */
  finish(comeBackTo: URL, flow: OidcFlow): Promise<OidcPerson>
}

const TIMEOUT_SECONDS = 5
/** What the clocks of the two may differ by. */
const TOLERANCE_SECONDS = 60
/** So old may be what is known of a provider's addresses. Its keys are looked up when one is unknown. */
const KNOWN_FOR_MS = 3_600_000

export function createOidcClient(provider: OidcProvider): OidcClient {
  let known: { readonly configuration: Promise<Configuration>; readonly sinceMs: number } | undefined
  const configuration = () => {
    if (known === undefined || performance.now() - known.sinceMs > KNOWN_FOR_MS) {
      const found = discover(provider)
      known = { configuration: found, sinceMs: performance.now() }
      found.catch(() => {
        known = undefined
      })
    }
    return known.configuration
  }
  return {
    provider,
    begin: async (redirectUri) => {
      const flow = { state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier() }
      const url = buildAuthorizationUrl(await configuration(), {
        redirect_uri: redirectUri,
        scope: provider.scopes,
        state: flow.state,
        nonce: flow.nonce,
        code_challenge: await calculatePKCECodeChallenge(flow.verifier),
        code_challenge_method: 'S256',
      })
      return { url, flow }
    },
    finish: async (comeBackTo, flow) => {
      const config = await configuration()
      try {
        const tokens = await authorizationCodeGrant(config, comeBackTo, {
          expectedState: flow.state,
          expectedNonce: flow.nonce,
          pkceCodeVerifier: flow.verifier,
          idTokenExpected: true,
        })
        const claims = tokens.claims()
        if (claims === undefined) throw new Error('there is no ID token')
        const { userinfo_endpoint } = config.serverMetadata()
        const more = userinfo_endpoint === undefined ? {} : await fetchUserInfo(config, tokens.access_token, claims.sub)
        return personOf(provider, { ...more, ...claims })
      } catch (error) {
        throw isAway(error) ? new ProviderAway(`${provider.id} does not answer`, { cause: error }) : error
      }
    },
  }
}

async function discover(provider: OidcProvider): Promise<Configuration> {
  const { issuer, client_id, clientSecret } = provider
  const auth = clientSecret === null ? None() : ClientSecretBasic(clientSecret)
  const isPlain = issuer.startsWith('http:')
  try {
    return await discovery(new URL(issuer), client_id, { [clockTolerance]: TOLERANCE_SECONDS }, auth, {
      timeout: TIMEOUT_SECONDS,
      // The signature of the ID token is checked, too, although it comes over TLS.
      execute: [enableNonRepudiationChecks, ...(isPlain ? [allowInsecureRequests] : [])],
    })
  } catch (error) {
    throw new ProviderAway(`${provider.id} cannot be found at ${issuer}`, { cause: error })
  }
}

/** A refusal says that the provider is there. */
const isAway = (error: unknown): boolean => {
  const {
    code,
    cause,
    status = (cause as Response | undefined)?.status,
  } = error as Error & {
    code?: unknown
    status?: number
  }
  if (typeof status === 'number') return status >= 500
  return error instanceof TypeError || code === 'OAUTH_TIMEOUT' || code === 'OAUTH_ABORT'
}

function personOf({ groups_claim }: OidcProvider, claims: Readonly<Record<string, unknown>>): OidcPerson {
  const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : null)
  const groups = claims[groups_claim]
  return {
    issuer: String(claims.iss),
    subject: String(claims.sub),
    email: text(claims.email),
    emailVerified: claims.email_verified === true,
    name: text(claims.name)?.slice(0, 100) ?? null,
    groups: (Array.isArray(groups) ? groups : [groups]).filter((group) => typeof group === 'string'),
  }
}
