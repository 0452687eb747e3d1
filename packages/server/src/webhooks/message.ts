import { createHmac } from 'node:crypto'
import { LIMITS, type WebhookEvent, type WebhookMessage } from '@countersign/protocol'
import { type Random, sha256 } from '../base/crypto/secrets.js'
import { postJson } from '../base/outbound/post-json.js'
import type { Services } from '../context/context.js'
import { kindOf, type NoticeKind, questionUrl } from '../questions/views.js'
import type { DueMessage } from '../store/questions/webhook-messages.js'
import type { WebhookKey, WebhookSecrets } from '../store/questions/webhooks.js'

/** Messages as Standard Webhooks describes them (https://www.standardwebhooks.com). */

const PREFIX = 'whsec_'
const SECRET_BYTES = 32

export const makeSecret = (random: Random): string => `${PREFIX}${random(SECRET_BYTES).toString('base64')}`

/** Where a secret is stored: it can be opened nowhere else. */
export const secretPlace = ({ tenantId, webhookId }: WebhookKey): string => `${tenantId}/webhooks/${webhookId}`

/** The webhook is signed with a secret that cannot be read. */
export class UnreadableSecret extends Error {
  override name = 'UnreadableSecret'
}

/** Those that sign, the newest first. */
export function openSecrets(
  { accounts }: Pick<Services, 'accounts'>,
  webhook: WebhookKey & WebhookSecrets,
): readonly string[] {
  const open = (sealed: string) => accounts.sealedSecrets.open(sealed, secretPlace(webhook))
  const secret = open(webhook.secret)
  if (secret === null) throw new UnreadableSecret('its secret cannot be read: roll it')
  const old = webhook.oldSecret === null ? null : open(webhook.oldSecret)
  return old === null ? [secret] : [secret, old]
}

export interface Signed {
  readonly id: string
  readonly message: WebhookMessage
  readonly secrets: readonly string[]
}

/** Posts a message and returns the status of the answer. Throws `UnreachableAddress`. */
export function postMessage(
  { config, clock }: Pick<Services, 'config' | 'clock'>,
  url: string,
  { id, message, secrets }: Signed,
): Promise<number> {
  const body = JSON.stringify(message)
  const timestamp = Math.floor(clock().getTime() / 1_000)
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': secrets.map((secret) => signature(secret, `${id}.${timestamp}.${body}`)).join(' '),
    'user-agent': 'Countersign',
  }
  const options = { allowLocal: config.allowLocalWebhooks, timeoutMs: LIMITS.webhookTimeoutMs }
  return postJson(url, { headers, body }, options)
}

const signature = (secret: string, signed: string): string =>
  `v1,${createHmac('sha256', Buffer.from(secret.slice(PREFIX.length), 'base64'))
    .update(signed)
    .digest('base64')}`

const EVENTS = {
  asked: 'question.asked',
  reminder: 'question.reminded',
  escalation: 'question.escalated',
  undelivered: 'question.undelivered',
  answered: 'question.answered',
  ended: 'question.ended',
} as const satisfies Record<NoticeKind, WebhookEvent>

export const eventOf = (kind: string): WebhookEvent => EVENTS[kindOf(kind)]

/** The same for each try and each webhook: receivers know by it what they have. */
export const messageId = (tenantId: string, { questionId, kind }: Pick<DueMessage, 'questionId' | 'kind'>): string =>
  `msg_${sha256(`${tenantId} ${questionId} ${kind}`).toString('base64url').slice(0, 27)}`

export function messageOf(app: Pick<Services, 'publicUrl'>, due: DueMessage): WebhookMessage {
  const { cause, decision, expires_at, ...said } = due.said
  const type = eventOf(due.kind)
  return {
    type,
    timestamp: due.createdAt.toISOString(),
    data: {
      question_id: due.questionId,
      session_id: due.sessionId,
      agent: due.agent,
      environment: due.environment,
      tool_name: due.toolName,
      rule: due.rule,
      reason: due.reason,
      url: questionUrl(app, due.questionId),
      ...said,
      expires_at: new Date(expires_at).toISOString(),
      ...(decision !== null && { decision }),
      ...(type === 'question.ended' && cause !== null && { cause }),
    },
  }
}
