import { makeId } from '../base/crypto/secrets.js'
import type { Services } from '../context/context.js'
import type { Tx } from '../postgres/sql.js'
import { queueWebhookMails } from '../store/accounts/mail.js'
import { insertAuditEntry } from '../store/audit.js'
import { disableWebhook, type WebhookKey, type WebhookRow } from '../store/questions/webhooks.js'

/** Nothing more is sent to a webhook, and the owners are told by mail. */
export async function disableFailing(
  { random }: Pick<Services, 'random'>,
  tx: Tx,
  { webhook, why }: { readonly webhook: WebhookKey & WebhookRow; readonly why: string },
): Promise<void> {
  if (!(await disableWebhook(tx, webhook))) return
  const { tenantId, webhookId, url } = webhook
  await insertAuditEntry(tx, {
    tenantId,
    action: 'webhook_disabled',
    actor: 'system',
    subject: webhookId,
    detail: `${new URL(url).host}: ${why}`,
  })
  await queueWebhookMails(tx, { tenantId, webhookId, mailId: makeId(random, 'mail') })
}
