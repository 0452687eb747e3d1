import type { Webhook } from '@countersign/protocol'
import type { WebhookRow } from '../store/questions/webhooks.js'

/** A webhook as owners see it: never its secret. */
export const webhookView = (webhook: WebhookRow): Webhook => ({
  webhook_id: webhook.webhookId,
  url: webhook.url,
  created_at: webhook.createdAt.toISOString(),
  old_secret_until: webhook.oldUntil?.toISOString() ?? null,
  failing_since: webhook.failingSince?.toISOString() ?? null,
  disabled_at: webhook.disabledAt?.toISOString() ?? null,
})
