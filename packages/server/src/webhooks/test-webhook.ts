import type { Input, Reply, Routes } from '@countersign/protocol'
import { requireToken } from '../accounts/limits.js'
import { ApiError } from '../base/api-error.js'
import { makeId } from '../base/crypto/secrets.js'
import type { UserContext } from '../context/context.js'
import { inRead } from '../context/work.js'
import { loadWebhook } from '../store/questions/webhooks.js'
import { openSecrets, postMessage } from './message.js'
import { outcomeOf } from './send-webhooks.js'

/** Also to a disabled webhook, so that it can be tried before it is enabled. Whether it fails changes nothing. */
export async function testWebhook(
  ctx: UserContext,
  { params }: Input<Routes['testWebhook']>,
): Promise<Reply<Routes['testWebhook']>> {
  const { app, tenant } = ctx
  const key = { tenantId: tenant.tenantId, webhookId: params.webhook_id }
  const webhook = await inRead(ctx, (sql) => loadWebhook(sql, key))
  if (webhook === null) throw new ApiError('NOT_FOUND')
  await requireToken(ctx, 'webhook_tests', tenant.tenantId)
  const { status, error } = await outcomeOf(async () =>
    postMessage(app, webhook.url, {
      id: makeId(app.random, 'msg'),
      message: {
        type: 'webhook.test',
        timestamp: app.clock().toISOString(),
        data: { webhook_id: key.webhookId },
      },
      secrets: openSecrets(app, { ...key, ...webhook }),
    }),
  )
  return { ok: error === null, status, error }
}
