import type { Webhook, WebhookDelivery } from '@countersign/protocol'
import type { Fixtures } from './fixtures.js'

const HOUR_MS = 3_600_000

/** The routes of webhooks, over made-up ones that change when they are changed. */
export function webhookFixtures(now: Date, empty: boolean): Fixtures {
  const at = (hours: number) => new Date(now.getTime() + hours * HOUR_MS).toISOString()
  const hook = (webhook_id: string, url: string, more: Partial<Webhook> = {}): Webhook => ({
    webhook_id,
    url,
    created_at: at(-90),
    old_secret_until: null,
    failing_since: null,
    disabled_at: null,
    ...more,
  })
  const webhooks = empty
    ? []
    : [
        hook('whk_1', 'https://hooks.northwind.example/countersign', { old_secret_until: at(17) }),
        hook('whk_2', 'https://chat.northwind.example/in/7f0a', { failing_since: at(-5) }),
        hook('whk_3', 'https://old.northwind.example/in', { failing_since: at(-100), disabled_at: at(-20) }),
      ]
  const message = (message_id: string, more: Partial<WebhookDelivery>): WebhookDelivery => ({
    message_id,
    event: 'question.asked',
    question_id: 'Q-7F3K9W2MXT4A',
    at: at(-1),
    sent_at: null,
    next_try_at: null,
    attempts: 1,
    status: null,
    error: null,
    ...more,
  })
  const deliveries = [
    message('msg_4', { attempts: 0, next_try_at: at(0) }),
    message('msg_3', {
      event: 'question.ended',
      status: 503,
      error: 'it answered 503',
      attempts: 4,
      next_try_at: at(0.1),
    }),
    message('msg_2', { error: 'it cannot be reached (ECONNREFUSED)', attempts: 10, at: at(-30) }),
    message('msg_1', { event: 'question.answered', sent_at: at(-40), status: 204, at: at(-40) }),
  ]
  const find = (params: Readonly<Record<string, string>> | undefined) =>
    webhooks.find(({ webhook_id }) => webhook_id === params?.webhook_id)
  const secret = 'whsec_Zm9yIHRoZSBmaXh0dXJlcyBvbmx5'
  return {
    listWebhooks: () => ({ webhooks, limit: 8 }),
    createWebhook: ({ body }) => {
      const webhook = hook('whk_new', body?.url ?? '', { created_at: at(0) })
      webhooks.push(webhook)
      return { webhook, secret }
    },
    changeWebhook: ({ params, body }) => {
      const webhook = find(params)
      if (webhook === undefined) return 404
      if (body?.url !== undefined) Object.assign(webhook, { url: body.url })
      if (body?.disabled !== undefined)
        Object.assign(webhook, { disabled_at: body.disabled ? at(0) : null, failing_since: null })
      return webhook
    },
    rollWebhookSecret: ({ params }) => {
      const webhook = find(params)
      if (webhook === undefined) return 404
      return { webhook: Object.assign(webhook, { old_secret_until: at(24) }), secret }
    },
    testWebhook: ({ params }) =>
      find(params)?.failing_since === null
        ? { ok: true, status: 204, error: null }
        : { ok: false, status: 503, error: 'it answered 503' },
    listWebhookDeliveries: ({ params }) => ({ deliveries: params?.webhook_id === 'whk_3' ? [] : deliveries }),
    removeWebhook: ({ params }) => {
      const webhook = find(params)
      if (webhook === undefined) return 404
      webhooks.splice(webhooks.indexOf(webhook), 1)
      return { ok: true }
    },
  }
}
