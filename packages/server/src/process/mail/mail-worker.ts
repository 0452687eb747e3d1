import { LIMITS } from '@countersign/protocol'
import type { Random } from '../../base/crypto/secrets.js'
import { makeId, makeToken } from '../../base/crypto/secrets.js'
import { createLastingTrouble } from '../../base/lasting-trouble.js'
import type { Log } from '../../base/log.js'
import type { MailWorker } from '../../context/context.js'
import type { Database } from '../../postgres/database.js'
import { giveToken } from '../../store/accounts/invitations.js'
import {
  beginAttempt,
  giveUp,
  markSent,
  type QueuedMail,
  replaceMailToken,
  type TokenKind,
  takeDueMail,
} from '../../store/accounts/mail.js'
import type { Mailer } from './mailer.js'
import { writeMessage } from './messages.js'

export interface MailWorkerParts {
  readonly database: Database
  readonly mailer: Mailer
  readonly log: Log
  readonly random: Random
  readonly publicUrl: () => string
}

const TOKEN_LIFE_SECONDS = {
  reset: LIMITS.resetTokenMinutes * 60,
  verify: LIMITS.verificationTokenHours * 3_600,
} as const satisfies Record<TokenKind, number>

/** 1, 2, 4 … minutes apart; after the last one the person has to ask again. */
const MAX_ATTEMPTS = 8
const retryDelaySeconds = (attempts: number) => 60 * 2 ** attempts

const SHARE = 'mail'

/**
 * Sends one mail that is due. The token is made here and stored only as a hash: a crash before the mail went out costs
 * nothing, the next attempt makes a new one. False when nothing was due.
 */
export async function sendDueMail(parts: MailWorkerParts): Promise<boolean> {
  const { database, mailer, log, random, publicUrl } = parts
  const token = makeToken(random)
  const mail = await database.transaction(SHARE, async (tx): Promise<QueuedMail | undefined> => {
    const due = await takeDueMail(tx)
    if (due === undefined) return undefined
    if (due.attempts >= MAX_ATTEMPTS) {
      // The last attempt ended the process before it could be given up.
      await giveUp(tx, due)
      return undefined
    }
    await beginAttempt(tx, due, retryDelaySeconds(due.attempts))
    if (due.kind === 'webhook') return due
    if (due.kind === 'invite') {
      await giveToken(tx, { ...due, hash: token.hash })
      return due
    }
    const { tenantId, userId, kind } = due
    await replaceMailToken(tx, {
      tenantId,
      userId,
      kind,
      tokenId: makeId(random, 'tk'),
      hash: token.hash,
      lifeSeconds: TOKEN_LIFE_SECONDS[kind],
    })
    return due
  })
  if (mail === undefined) return false
  try {
    await mailer.send(mail.email, writeMessage(mail, publicUrl(), token.raw), mail.mailId)
    await markSent(database.sql, mail)
    log.info({ mail_id: mail.mailId, kind: mail.kind }, 'a mail was sent')
  } catch (error) {
    const attempts = mail.attempts + 1
    log.warn({ mail_id: mail.mailId, kind: mail.kind, attempts, error }, 'a mail could not be sent')
    if (attempts >= MAX_ATTEMPTS) await giveUp(database.sql, mail)
  }
  return true
}

/** One loop per process; instances share the queue by row locks. */
export function startMailWorker(parts: MailWorkerParts, everyMs = 15_000): MailWorker {
  let stopped = false
  let running: Promise<void> = Promise.resolve()
  const trouble = createLastingTrouble(parts.log)
  const drain = async () => {
    try {
      while (!stopped && (await sendDueMail(parts)));
      trouble.worked('mail queue')
    } catch (error) {
      trouble.failed('mail queue', error)
    }
  }
  // However often it is woken while it works, it looks once more: strangers may ask for mails by the thousand.
  let isWoken = false
  const wake = () => {
    if (isWoken) return
    isWoken = true
    running = running.then(() => {
      isWoken = false
      return drain()
    })
  }
  const timer = setInterval(wake, everyMs)
  timer.unref()
  return {
    wake,
    idle: async () => {
      wake()
      await running
    },
    send: (to, message, reference) => parts.mailer.send(to, message, reference),
    close: async () => {
      stopped = true
      clearInterval(timer)
      await running
      parts.mailer.close()
    },
  }
}
