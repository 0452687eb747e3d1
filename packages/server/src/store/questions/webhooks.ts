import type { Queryable } from '../../postgres/sql.js'
import { across } from '../across-tenants.js'

/** An address that is told of questions. */
export interface WebhookRow {
  readonly webhookId: string
  readonly url: string
  readonly createdAt: Date
  readonly oldUntil: Date | null
  readonly failingSince: Date | null
  readonly disabledAt: Date | null
}

/** A webhook of a tenant. */
export interface WebhookKey {
  readonly tenantId: string
  readonly webhookId: string
}

/** Sealed. The old one signs as well while it is set. */
export interface WebhookSecrets {
  readonly secret: string
  readonly oldSecret: string | null
}

const COLUMNS = `webhook_id, url, created_at, failing_since, disabled_at,
  case when old_until > statement_timestamp() then old_until end as old_until`

export function listWebhooks(sql: Queryable, tenantId: string): Promise<WebhookRow[]> {
  return sql<WebhookRow[]>`
    select ${sql.unsafe(COLUMNS)} from webhooks where tenant_id = ${tenantId} order by created_at, webhook_id`
}

export async function loadWebhook(
  sql: Queryable,
  { tenantId, webhookId }: WebhookKey,
): Promise<(WebhookRow & WebhookSecrets) | null> {
  const [row] = await sql<(WebhookRow & WebhookSecrets)[]>`
    select ${sql.unsafe(COLUMNS)}, secret, case when old_until > statement_timestamp() then old_secret end as old_secret
    from webhooks where tenant_id = ${tenantId} and webhook_id = ${webhookId}`
  return row ?? null
}

/** The caller holds the tenant's row, so that the count holds. */
export async function insertWebhook(
  sql: Queryable,
  { tenantId, webhookId, url, secret }: WebhookKey & { readonly url: string; readonly secret: string },
): Promise<void> {
  await sql`
    insert into webhooks (tenant_id, webhook_id, url, secret) values (${tenantId}, ${webhookId}, ${url}, ${secret})`
}

/** Another address has not failed yet. */
export async function setUrl(sql: Queryable, { tenantId, webhookId }: WebhookKey, url: string): Promise<void> {
  await sql`
    update webhooks set url = ${url}, failing_since = null where tenant_id = ${tenantId} and webhook_id = ${webhookId}`
}

/** The secret until now signs as well for so many hours. */
export async function rollSecret(
  sql: Queryable,
  { tenantId, webhookId }: WebhookKey,
  { secret, oldHours }: { readonly secret: string; readonly oldHours: number },
): Promise<void> {
  await sql`
    update webhooks set secret = ${secret}, old_secret = secret,
      old_until = statement_timestamp() + make_interval(hours => ${oldHours})
    where tenant_id = ${tenantId} and webhook_id = ${webhookId}`
}

export async function enableWebhook(sql: Queryable, { tenantId, webhookId }: WebhookKey): Promise<void> {
  await sql`
    update webhooks set disabled_at = null, failing_since = null
    where tenant_id = ${tenantId} and webhook_id = ${webhookId}`
}

/** False when it is disabled already. What waits for it is not sent. */
export async function disableWebhook(sql: Queryable, key: WebhookKey): Promise<boolean> {
  const { tenantId, webhookId } = key
  const rows = await sql`
    update webhooks set disabled_at = statement_timestamp()
    where tenant_id = ${tenantId} and webhook_id = ${webhookId} and disabled_at is null returning 1`
  if (rows.length === 1) await endMessages(sql, key, 'the webhook was disabled')
  return rows.length === 1
}

/** What waits for it is not sent. */
export async function deleteWebhook(sql: Queryable, key: WebhookKey): Promise<void> {
  const { tenantId, webhookId } = key
  await sql`delete from webhooks where tenant_id = ${tenantId} and webhook_id = ${webhookId}`
  await endMessages(sql, key, 'the webhook was removed')
}

export async function endMessages(sql: Queryable, { tenantId, webhookId }: WebhookKey, error: string): Promise<void> {
  await sql`
    update deliveries d set next_at = null, error = ${error}
    where d.tenant_id = ${tenantId} and d.channel = 'webhook' and d.recipient = ${webhookId} and d.next_at is not null`
}

export interface StoredSecrets extends WebhookKey, WebhookSecrets {}

/** Webhooks with a secret that begins like this. An old one that signs no more is left out. */
export function listOutdatedSecrets(
  sql: Queryable,
  former: readonly string[],
  limit: number,
): Promise<StoredSecrets[]> {
  return sql<StoredSecrets[]>`
    ${across(sql, 'outdated secrets')}
    select w.tenant_id, w.webhook_id, w.secret,
      case when w.old_until > statement_timestamp() then w.old_secret end as old_secret
    from webhooks w
    where exists (
      select 1 from unnest(${former}::text[]) as f (prefix)
      where starts_with(w.secret, f.prefix) or starts_with(w.old_secret, f.prefix)
    )
    limit ${limit}`
}

/** The same secrets, sealed anew, unless they were changed meanwhile. */
export async function replaceSecrets(
  sql: Queryable,
  { tenantId, webhookId, secret: before }: StoredSecrets,
  { secret, oldSecret }: WebhookSecrets,
): Promise<void> {
  await sql`
    update webhooks w set secret = ${secret}, old_secret = ${oldSecret}
    where w.tenant_id = ${tenantId} and w.webhook_id = ${webhookId} and w.secret = ${before}`
}
