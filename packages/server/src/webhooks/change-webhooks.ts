import { type Input, LIMITS, type Reply, type Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { makeId } from '../base/crypto/secrets.js'
import { requireUsable, UnreachableAddress } from '../base/outbound/checked-request.js'
import { audit } from '../context/audit.js'
import type { UserContext } from '../context/context.js'
import { inTenantTransaction } from '../context/work.js'
import type { Tx } from '../postgres/sql.js'
import {
  deleteWebhook,
  disableWebhook,
  enableWebhook,
  insertWebhook,
  listWebhooks,
  loadWebhook,
  rollSecret,
  setUrl,
  type WebhookKey,
  type WebhookRow,
} from '../store/questions/webhooks.js'
import { makeSecret, secretPlace } from './message.js'
import { webhookView } from './webhook-view.js'

/** The secret is in this reply and, encrypted, in the database. */
export async function createWebhook(
  ctx: UserContext,
  { body }: Input<Routes['createWebhook']>,
): Promise<Reply<Routes['createWebhook']>> {
  const url = requireUrl(ctx, body.url)
  const { random } = ctx.app
  const key = { tenantId: ctx.tenant.tenantId, webhookId: makeId(random, 'whk') }
  const made = newSecret(ctx, key)
  return inTenantTransaction(ctx, async (tx) => {
    if ((await listWebhooks(tx, key.tenantId)).length >= LIMITS.webhooksPerTenant) {
      throw new ApiError('WEBHOOK_LIMIT', {
        detail: `a tenant has at most ${LIMITS.webhooksPerTenant} webhooks; remove one first`,
      })
    }
    await insertWebhook(tx, { ...key, url, secret: made.sealed })
    await audit(tx, ctx, { action: 'webhook_added', subject: key.webhookId, detail: hostOf(url) })
    return { webhook: webhookView(await load(tx, key)), secret: made.secret }
  })
}

export async function changeWebhook(
  ctx: UserContext,
  { params, body }: Input<Routes['changeWebhook']>,
): Promise<Reply<Routes['changeWebhook']>> {
  const url = body.url === undefined ? undefined : requireUrl(ctx, body.url)
  return change(ctx, params.webhook_id, async (tx, key, before) => {
    const named = { subject: key.webhookId, detail: hostOf(url ?? before.url) }
    if (url !== undefined && url !== before.url) {
      await setUrl(tx, key, url)
      await audit(tx, ctx, { action: 'webhook_changed', ...named, detail: `${hostOf(before.url)} → ${hostOf(url)}` })
    }
    if (body.disabled === true && (await disableWebhook(tx, key)))
      await audit(tx, ctx, { action: 'webhook_disabled', ...named })
    if (body.disabled === false && before.disabledAt !== null) {
      await enableWebhook(tx, key)
      await audit(tx, ctx, { action: 'webhook_enabled', ...named })
    }
    return webhookView(await load(tx, key))
  })
}

/** Messages are signed with both secrets for a time, so that the receiver can change over. */
export async function rollWebhookSecret(
  ctx: UserContext,
  { params }: Input<Routes['rollWebhookSecret']>,
): Promise<Reply<Routes['rollWebhookSecret']>> {
  return change(ctx, params.webhook_id, async (tx, key, { url }) => {
    const made = newSecret(ctx, key)
    await rollSecret(tx, key, { secret: made.sealed, oldHours: LIMITS.webhookOldSecretHours })
    await audit(tx, ctx, { action: 'webhook_secret_rolled', subject: key.webhookId, detail: hostOf(url) })
    return { webhook: webhookView(await load(tx, key)), secret: made.secret }
  })
}

export async function removeWebhook(
  ctx: UserContext,
  { params }: Input<Routes['removeWebhook']>,
): Promise<Reply<Routes['removeWebhook']>> {
  return change(ctx, params.webhook_id, async (tx, key, { url }) => {
    await deleteWebhook(tx, key)
    await audit(tx, ctx, { action: 'webhook_removed', subject: key.webhookId, detail: hostOf(url) })
    return { ok: true }
  })
}

/** One change at a time in a tenant. 404 where it has no such webhook. */
const change = <T>(
  ctx: UserContext,
  webhookId: string,
  fn: (tx: Tx, key: WebhookKey, before: WebhookRow) => Promise<T>,
): Promise<T> =>
  inTenantTransaction(ctx, async (tx) => {
    const key = { tenantId: ctx.tenant.tenantId, webhookId }
    const before = await loadWebhook(tx, key)
    if (before === null) throw new ApiError('NOT_FOUND')
    return fn(tx, key, before)
  })

async function load(tx: Tx, key: WebhookKey): Promise<WebhookRow> {
  const webhook = await loadWebhook(tx, key)
  if (webhook === null) throw new Error('the webhook was not stored')
  return webhook
}

function newSecret({ app }: UserContext, key: WebhookKey): { readonly secret: string; readonly sealed: string } {
  const secret = makeSecret(app.random)
  return { secret, sealed: app.accounts.sealedSecrets.seal(secret, secretPlace(key)) }
}

/** What can be seen of an address. Where a name leads is checked at each message. */
function requireUrl({ app }: UserContext, text: string): string {
  const url = new URL(text)
  const refused = (detail: string) => new ApiError('INVALID_REQUEST', { detail: `body.url: ${detail}` })
  if (url.username !== '' || url.password !== '') throw refused('expected an address without user and password')
  try {
    requireUsable(url, app.config.allowLocalWebhooks)
  } catch (error) {
    if (error instanceof UnreachableAddress) throw refused(WORDS[error.message] ?? error.message)
    throw error
  }
  return url.href
}

const WORDS: Readonly<Record<string, string>> = {
  'it is not https': 'expected an address that begins with https://',
  'its address is not public': 'expected a public address; the operator can allow others',
}

/** The rest of an address may be a secret, and the audit trail is exported. */
const hostOf = (url: string): string => new URL(url).host
