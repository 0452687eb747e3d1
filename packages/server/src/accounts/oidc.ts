import { emailSchema, ROLES, type Role, signedInAt } from '@countersign/protocol'
import { addressKey } from '../base/address-key.js'
import { ApiError } from '../base/api-error.js'
import { FLOW_SECONDS, type OidcFlow } from '../base/crypto/oidc-flows.js'
import { makeId } from '../base/crypto/secrets.js'
import { type OidcClient, type OidcPerson, ProviderAway } from '../base/oidc-client.js'
import type { OidcProvider } from '../base/oidc-file.js'
import { auditPerson } from '../context/audit.js'
import type { OpenContext } from '../context/context.js'
import { authenticateCookie } from '../entry/authenticate-cookie.js'
import { inEntrance } from '../entry/senders.js'
import { cookieName, readCookie } from '../entry/session-cookies.js'
import type { Tx } from '../postgres/sql.js'
import { findIdentity, type Identity, insertIdentity } from '../store/accounts/identities.js'
import { acceptInvitation, findInvitationOf } from '../store/accounts/invitations.js'
import { insertMember, loadMember, setGroups } from '../store/accounts/members.js'
import { findSignIn } from '../store/accounts/refresh-tokens.js'
import { lockTenant } from '../store/accounts/tenants.js'
import { requireToken } from './limits.js'
import { changeMember } from './members/member-changes.js'
import { signIn } from './sign-in.js'

/** Sign-in at the company's provider: the person goes there, and comes back with a code. */

/** Why the sign-in failed; the sign-in page has a sentence for each. */
export type SignInProblem =
  | 'expired'
  | 'refused'
  | 'provider_away'
  | 'no_member'
  | 'no_role'
  | 'disabled'
  | 'address_taken'
  | 'address_unverified'
  | 'last_owner'

class Refused extends Error {
  override name = 'Refused'
  constructor(readonly problem: SignInProblem) {
    super(problem)
  }
}

const CALLBACK = '/api/auth/oidc/callback'

/** The address at the provider to which the person goes, or back to the page with what is wrong. */
export async function startOidc(
  ctx: OpenContext,
  { id, next, isLinking }: { id: string; next: string | null; isLinking: boolean },
): Promise<string> {
  await requireToken(ctx, 'oidc_ip', addressKey(ctx.request.clientAddress))
  const client = clientOf(ctx, id)
  if (client === undefined) throw new ApiError('NOT_FOUND')
  const linking = isLinking ? await ownSignIn(ctx) : null
  try {
    const { url, flow } = await client.begin(ctx.app.publicUrl() + CALLBACK)
    const whole = { ...flow, provider: id, next: isOwnPath(next) ? next : '/', linking }
    setFlowCookie(ctx, await ctx.app.accounts.oidcFlows.seal(whole, ctx.app.clock()), FLOW_SECONDS)
    return url.href
  } catch (error) {
    return pageOf(ctx, error)
  }
}

/** Signs the person in. Returns where they go on, or the page with what is wrong. */
export async function finishOidc(ctx: OpenContext, query: string): Promise<string> {
  await requireToken(ctx, 'oidc_ip', addressKey(ctx.request.clientAddress))
  const { accounts, database, clock, publicUrl } = ctx.app
  try {
    const sealed = readCookie(ctx.request.http.header('cookie'), cookieName('oidc', accounts.secureCookies))
    const flow = sealed === undefined ? null : await accounts.oidcFlows.open(sealed, clock())
    const client = flow === null ? undefined : clientOf(ctx, flow.provider)
    setFlowCookie(ctx, '', 0)
    if (flow === null || client === undefined) throw new Refused('expired')
    const person = await client.finish(new URL(publicUrl() + CALLBACK + query), flow)
    const { provider } = client
    await database.transaction(provider.tenant, (tx) => admit(ctx, tx, { provider, person, flow }))
    return flow.next
  } catch (error) {
    return pageOf(ctx, error)
  }
}

interface Arrival {
  readonly provider: OidcProvider
  readonly person: OidcPerson
  readonly flow: OidcFlow
}

/** All or nothing: who the person is here, what the provider says that they are, and the sign-in. */
async function admit(ctx: OpenContext, tx: Tx, arrival: Arrival): Promise<void> {
  const { provider, person } = arrival
  const { tenant: tenantId } = provider
  const place = placeOf(provider, person)
  if (!(await lockTenant(tx, tenantId))) throw new Refused('no_member')
  const identity = { tenantId, issuer: person.issuer, subject: person.subject }
  const userId = (await findIdentity(tx, identity)) ?? (await newcomer(ctx, tx, { ...arrival, identity }))
  const named = { tenantId, userId }
  const member = await loadMember(tx, tenantId, userId)
  if (member === undefined || member.disabledAt !== null) throw new Refused('disabled')
  const by = { ...named, email: member.email, method: signedInAt(provider.id) }
  const acts = await changeMember(tx, named, place)
  if (acts === 'last owner') throw new Refused('last_owner')
  for (const act of acts) await auditPerson(tx, ctx, { ...by, ...act })
  await auditPerson(tx, ctx, { ...by, action: 'login' })
  await signIn(ctx, tx, { ...named, passwordHash: null, method: by.method, lifeSeconds: provider.hours * 3_600 })
}

/** A member who adds the provider, an invited person, or a new member if the provider may make one. */
async function newcomer(
  ctx: OpenContext,
  tx: Tx,
  { provider, person, flow, identity }: Arrival & { identity: Identity },
): Promise<string> {
  const { tenantId } = identity
  if (flow.linking !== null) {
    const signedIn = await findSignIn(tx, { tenantId, refreshId: flow.linking })
    if (signedIn === undefined) throw new Refused('expired')
    await insertIdentity(tx, identity, signedIn.userId)
    await auditPerson(tx, ctx, {
      ...signedIn,
      action: 'provider_linked',
      subject: signedIn.userId,
      detail: provider.id,
    })
    return signedIn.userId
  }
  const email = emailSchema.safeParse(person.email).data
  if (email === undefined || !person.emailVerified) throw new Refused('address_unverified')
  const userId = makeId(ctx.app.random, 'us')
  const invitation = await findInvitationOf(tx, tenantId, email)
  if (invitation === undefined && provider.create === 'none') throw new Refused('no_member')
  if (invitation !== undefined) await acceptInvitation(tx, invitation, userId)
  const role: Role = invitation?.role ?? 'viewer'
  const member = { tenantId, userId, email, name: person.name, passwordHash: null, role }
  // An address alone does not prove the member who has it.
  if (!(await insertMember(tx, member))) throw new Refused('address_taken')
  await setGroups(tx, member, invitation?.groups ?? [])
  await insertIdentity(tx, identity, userId)
  const by = invitation === undefined ? `made by ${provider.id}` : `invited by ${invitation.invitedBy}`
  const method = signedInAt(provider.id)
  await auditPerson(tx, ctx, { ...member, method, action: 'member_joined', subject: userId, detail: `${role}, ${by}` })
  return userId
}

/** What the provider's groups say of role and groups; nothing where it was not asked. */
function placeOf({ roles, groups }: OidcProvider, person: OidcPerson): { role?: Role; groups?: string[] } {
  const mapped = <T>(map: Readonly<Record<string, T>>): T[] =>
    person.groups.flatMap((group) => (Object.hasOwn(map, group) ? [map[group] as T] : []))
  const held = roles === undefined ? [] : mapped(roles)
  const role = ROLES.findLast((one) => held.includes(one))
  if (roles !== undefined && role === undefined) throw new Refused('no_role')
  return {
    ...(role !== undefined && { role }),
    ...(groups !== undefined && { groups: [...new Set(mapped(groups))] }),
  }
}

const clientOf = ({ app }: OpenContext, id: string): OidcClient | undefined =>
  app.accounts.oidcClients.find(({ provider }) => provider.id === id)

/** The sign-in of a member who adds a provider to their account. */
async function ownSignIn(ctx: OpenContext): Promise<string> {
  const { accessTokens, deviceTokens, secureCookies: secure } = ctx.app.accounts
  const cookies = { accessTokens, deviceTokens, secure, now: ctx.app.clock() }
  const { http, replyHeaders } = ctx.request
  return (await inEntrance(ctx, (sql) => authenticateCookie({ sql, ...cookies }, http, replyHeaders))).refreshId
}

/** A page of this service, and nothing that a browser could take for another host. */
const isOwnPath = (next: string | null): next is string =>
  next !== null && /^\/(?![/\\])[^\\\p{C}]*$/u.test(next) && next.length <= 512

/** A browser comes back from the provider by a link of another site, with which it sends no Strict cookie. */
function setFlowCookie({ app, request }: OpenContext, value: string, maxAge: number): void {
  const { secureCookies } = app.accounts
  const name = cookieName('oidc', secureCookies)
  const flags = `Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${secureCookies ? '; Secure' : ''}`
  request.replyHeaders.appendCookie(`${name}=${value}; ${flags}`)
}

function pageOf({ request }: OpenContext, error: unknown): string {
  const problem: SignInProblem =
    error instanceof Refused ? error.problem : error instanceof ProviderAway ? 'provider_away' : 'refused'
  request.log.warn({ problem, error: error instanceof Refused ? undefined : error }, 'sign-in at the provider failed')
  return `/sign-in?problem=${problem}`
}
