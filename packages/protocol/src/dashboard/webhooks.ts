import { z } from 'zod'
import { idSchema, timeSchema } from '../base/ids.js'
import type { Route } from '../http/route.js'
import { doneReply } from './account.js'

export const webhookSchema = z.strictObject({
  webhook_id: z.string(),
  url: z.string(),
  created_at: timeSchema,
  /** Since when no message has arrived; null while they do. */
  failing_since: timeSchema.nullable(),
})
export type Webhook = z.infer<typeof webhookSchema>

const owners = { auth: 'cookie', role: 'owner', throttle: 'dashboard' } as const

/** Where notices of questions are posted, signed as in Standard Webhooks. */
export const webhookRoutes = {
  listWebhooks: {
    ...owners,
    method: 'GET',
    path: '/api/dashboard/webhooks',
    summary: 'Where notices of questions are posted',
    reply: z.strictObject({ webhooks: z.array(webhookSchema) }),
  },
  createWebhook: {
    ...owners,
    method: 'POST',
    path: '/api/dashboard/webhooks',
    status: 201,
    summary: 'Add an address; the secret that signs its messages is shown once',
    body: z.strictObject({ url: z.url({ protocol: /^https?$/ }).max(1_024) }),
    reply: z.strictObject({ webhook: webhookSchema, secret: z.string() }),
  },
  removeWebhook: {
    ...owners,
    method: 'POST',
    path: '/api/dashboard/webhooks/:webhook_id/remove',
    summary: 'Remove an address; what waits for it is not sent',
    params: z.strictObject({ webhook_id: idSchema }),
    reply: doneReply,
  },
} as const satisfies Record<string, Route>
