import { z } from 'zod'
import { environmentSchema, idSchema, timeSchema } from '../base/ids.js'
import { LIMITS } from '../base/limits.js'
import type { Route } from '../http/route.js'
import { answerDecisionSchema, questionCauseSchema, questionStateSchema } from '../session/question.js'
import { doneReply } from './account.js'

/** What webhooks are told, by the type of the message. */
export const WEBHOOK_EVENTS = {
  'question.asked': 'people are asked about a call, or asked again with a new card',
  'question.reminded': 'a question still waits, and those who can answer are reminded',
  'question.escalated': 'a question still waits, and more people can answer it',
  'question.undelivered': 'a question has waited for five minutes, and no mail about it was sent',
  'question.answered': 'a member approved or denied; `state` says whether that decided it',
  'question.ended': 'a question expired or was withdrawn; `cause` says why',
  'webhook.test': 'an owner sent a test',
} as const
export type WebhookEvent = keyof typeof WEBHOOK_EVENTS
const eventSchema = z.enum(Object.keys(WEBHOOK_EVENTS) as [WebhookEvent, ...WebhookEvent[]])

/** What a webhook is told of a question: no arguments, no notes, no names of people. */
export const webhookQuestionSchema = z.strictObject({
  question_id: z.string(),
  session_id: z.string(),
  agent: z.string().nullable(),
  environment: environmentSchema.nullable(),
  tool_name: z.string(),
  rule: z.string(),
  /** As the contract says it; null for rules about sources and for learned ones, whose sentences may quote the call. */
  reason: z.string().nullable(),
  /** Where people answer. Opening it decides nothing. */
  url: z.string(),
  /** As they were at `timestamp`. */
  state: questionStateSchema,
  card_no: z.int(),
  have: z.int(),
  needed: z.int(),
  expires_at: timeSchema,
  /** What the member said. */
  decision: answerDecisionSchema.optional(),
  /** Why it ended. */
  cause: questionCauseSchema.optional(),
})

/** The body of a message. Its id is in the header `webhook-id`: the same one is the same event, sent again. */
export const webhookMessageSchema = z.strictObject({
  type: eventSchema,
  /** When it happened. */
  timestamp: timeSchema,
  data: z.union([webhookQuestionSchema, z.strictObject({ webhook_id: z.string() })]),
})
export type WebhookMessage = z.infer<typeof webhookMessageSchema>

export const webhookSchema = z.strictObject({
  webhook_id: z.string(),
  url: z.string(),
  created_at: timeSchema,
  /** Until when messages are also signed with the secret before this one. */
  old_secret_until: timeSchema.nullable(),
  /** Since when no message has arrived; null while they do. */
  failing_since: timeSchema.nullable(),
  /** Nothing is sent to it. */
  disabled_at: timeSchema.nullable(),
})
export type Webhook = z.infer<typeof webhookSchema>

/** One message to a webhook, and what became of it. */
export const webhookDeliverySchema = z.strictObject({
  message_id: z.string(),
  event: eventSchema,
  question_id: z.string(),
  at: timeSchema,
  sent_at: timeSchema.nullable(),
  /** Null: it is not tried again. */
  next_try_at: timeSchema.nullable(),
  attempts: z.int(),
  /** Of the last answer; null where there was none. */
  status: z.int().nullable(),
  error: z.string().nullable(),
})
export type WebhookDelivery = z.infer<typeof webhookDeliverySchema>

const urlSchema = z.url({ protocol: /^https?$/, error: 'expected an address that begins with https://' }).max(1_024)
const path = z.strictObject({ webhook_id: idSchema })
const owners = { auth: 'cookie', role: 'owner', throttle: 'dashboard' } as const
const change = { ...owners, method: 'POST' } as const
const withSecret = z.strictObject({ webhook: webhookSchema, secret: z.string() })

/** Addresses to which events of questions are posted, signed as in Standard Webhooks. */
export const webhookRoutes = {
  listWebhooks: {
    ...owners,
    method: 'GET',
    path: '/api/dashboard/webhooks',
    summary: 'Addresses that are told about questions',
    reply: z.strictObject({ webhooks: z.array(webhookSchema), limit: z.int() }),
  },
  createWebhook: {
    ...change,
    path: '/api/dashboard/webhooks',
    status: 201,
    summary: 'Add an address; the secret that signs its messages is shown once',
    body: z.strictObject({ url: urlSchema }),
    reply: withSecret,
  },
  changeWebhook: {
    ...change,
    path: '/api/dashboard/webhooks/:webhook_id',
    summary: 'Change the address, or disable and enable it; what waits for a disabled one is not sent',
    params: path,
    body: z
      .strictObject({ url: urlSchema.optional(), disabled: z.boolean().optional() })
      .refine((body) => Object.keys(body).length > 0, 'nothing to change: expected url or disabled'),
    reply: webhookSchema,
  },
  rollWebhookSecret: {
    ...change,
    path: '/api/dashboard/webhooks/:webhook_id/roll',
    summary: `Make a new secret, shown once; for ${LIMITS.webhookOldSecretHours} hours messages are signed with both`,
    params: path,
    reply: withSecret,
  },
  testWebhook: {
    ...change,
    path: '/api/dashboard/webhooks/:webhook_id/test',
    summary: 'Send a test now, and say what was answered',
    params: path,
    reply: z.strictObject({ ok: z.boolean(), status: z.int().nullable(), error: z.string().nullable() }),
  },
  listWebhookDeliveries: {
    ...owners,
    method: 'GET',
    path: '/api/dashboard/webhooks/:webhook_id/deliveries',
    summary: 'The last messages to a webhook, newest first',
    params: path,
    reply: z.strictObject({ deliveries: z.array(webhookDeliverySchema) }),
  },
  removeWebhook: {
    ...change,
    path: '/api/dashboard/webhooks/:webhook_id/remove',
    summary: 'Remove an address; what waits for it is not sent',
    params: path,
    reply: doneReply,
  },
} as const satisfies Record<string, Route>
