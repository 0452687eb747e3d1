import { type Input, LIMITS, type Reply, type Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { UserContext } from '../context/context.js'
import { inRead } from '../context/work.js'
import { listMessages } from '../store/questions/webhook-messages.js'
import { listWebhooks as listStored, loadWebhook } from '../store/questions/webhooks.js'
import { eventOf, messageId } from './message.js'
import { webhookView } from './webhook-view.js'

/** What owners see of their webhooks. */

export async function listWebhooks(ctx: UserContext): Promise<Reply<Routes['listWebhooks']>> {
  const rows = await inRead(ctx, (sql) => listStored(sql, ctx.tenant.tenantId))
  return { webhooks: rows.map(webhookView), limit: LIMITS.webhooksPerTenant }
}

const SHOWN = 50

export async function listWebhookDeliveries(
  ctx: UserContext,
  { params }: Input<Routes['listWebhookDeliveries']>,
): Promise<Reply<Routes['listWebhookDeliveries']>> {
  const { tenantId } = ctx.tenant
  const key = { tenantId, webhookId: params.webhook_id }
  const messages = await inRead(ctx, async (sql) => {
    if ((await loadWebhook(sql, key)) === null) throw new ApiError('NOT_FOUND')
    return listMessages(sql, key, SHOWN)
  })
  return {
    deliveries: messages.map((message) => ({
      message_id: messageId(tenantId, message),
      event: eventOf(message.kind),
      question_id: message.questionId,
      at: message.createdAt.toISOString(),
      sent_at: message.sentAt?.toISOString() ?? null,
      next_try_at: message.nextAt?.toISOString() ?? null,
      attempts: message.attempts,
      status: message.status,
      error: message.error,
    })),
  }
}
