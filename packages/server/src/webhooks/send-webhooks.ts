import { LIMITS } from '@countersign/protocol'
import { UnreachableAddress } from '../base/outbound/checked-request.js'
import { JOBS_SHARE } from '../base/work/piece-of-work.js'
import type { Services } from '../context/context.js'
import { retrySeconds } from '../questions/retry.js'
import {
  type DueMessage,
  hasFailedFor,
  listDueWebhooks,
  noteArrival,
  noteFailure,
  takeDueMessage,
} from '../store/questions/webhook-messages.js'
import {
  endMessages,
  loadWebhook,
  type WebhookKey,
  type WebhookRow,
  type WebhookSecrets,
} from '../store/questions/webhooks.js'
import { disableFailing } from './disable-failing.js'
import { messageId, messageOf, openSecrets, postMessage, UnreadableSecret } from './message.js'

type Parts = Pick<Services, 'database' | 'log' | 'accounts' | 'publicUrl' | 'config' | 'clock' | 'random'>

const SHARE = 'webhooks'
/** Webhooks served in one round, which ends when the slowest has answered, after 10 seconds at most. */
const AT_ONCE = 8
/** A webhook with more gets its next turn after others. */
const TURN_MS = 2_000

/** No other message to a webhook is tried sooner after one that failed. */
const HOLD_SECONDS = 60
/** The address says that it wants no more. */
const GONE = 410

/** Sends what is due to some webhooks, each message in its turn. False when nothing was due. */
export async function sendDueWebhooks(parts: Parts): Promise<boolean> {
  const due = await parts.database.read(JOBS_SHARE, (sql) => listDueWebhooks(sql, AT_ONCE))
  await Promise.all(due.map((webhook) => sendTo(parts, webhook)))
  return due.length > 0
}

async function sendTo(parts: Parts, key: WebhookKey): Promise<void> {
  const { database } = parts
  const endMs = performance.now() + TURN_MS
  while (performance.now() < endMs) {
    const webhook = await database.find(SHARE, (sql) => loadWebhook(sql, key))
    if (webhook === null || webhook.disabledAt !== null) {
      await database.single(SHARE, (sql) => endMessages(sql, key, 'the webhook was disabled or removed'))
      return
    }
    // Counted before it is sent, and due again: a crash repeats it, under the same id, and not for ever.
    const message = await database.transaction(SHARE, (tx) => takeDueMessage(tx, key, retrySeconds))
    if (message === null || !(await send(parts, message, { ...key, ...webhook }))) return
  }
}

/** True when it has arrived. */
async function send(
  parts: Parts,
  due: DueMessage,
  webhook: WebhookKey & WebhookRow & WebhookSecrets,
): Promise<boolean> {
  const { database, log } = parts
  const named = { webhook_id: due.webhookId, question_id: due.questionId, kind: due.kind }
  const { status, error } = await tryToPost(parts, due, webhook)
  if (error === null) {
    await database.transaction(SHARE, (tx) => noteArrival(tx, due, status ?? 0))
    log.info(named, 'a webhook was told')
    return true
  }
  const attempts = due.attempts + 1
  log.warn({ ...named, attempts, status, reason: error }, 'a webhook could not be told')
  await database.transaction(SHARE, async (tx) => {
    const isLast = attempts >= LIMITS.webhookTries
    await noteFailure(tx, due, { status, error, isLast, holdSeconds: HOLD_SECONDS })
    const days = LIMITS.webhookFailingDays
    const why =
      status === GONE
        ? 'it answered 410 Gone'
        : (await hasFailedFor(tx, due, days))
          ? `nothing has arrived for ${days} days`
          : null
    if (why !== null) await disableFailing(parts, tx, { webhook, why })
  })
  return false
}

interface Outcome {
  readonly status: number | null
  /** Null: it has arrived. */
  readonly error: string | null
}

async function tryToPost(
  parts: Parts,
  due: DueMessage,
  webhook: WebhookKey & WebhookRow & WebhookSecrets,
): Promise<Outcome> {
  return outcomeOf(async () =>
    postMessage(parts, webhook.url, {
      id: messageId(due.tenantId, due),
      message: messageOf(parts, due),
      secrets: openSecrets(parts, webhook),
    }),
  )
}

/** What became of a message, in words. */
export async function outcomeOf(post: () => Promise<number>): Promise<Outcome> {
  try {
    const status = await post()
    return { status, error: status >= 200 && status < 300 ? null : `it answered ${status}` }
  } catch (error) {
    if (error instanceof UnreachableAddress || error instanceof UnreadableSecret)
      return { status: null, error: error.message }
    throw error
  }
}
