import type { Services } from '../../context/context.js'
import { MAX_ATTEMPTS, retrySeconds } from '../../questions/retry.js'
import { questionUrl } from '../../questions/views.js'
import {
  type DueNotice,
  endNotice,
  fanOut,
  noteFailure,
  noteMail,
  takeDueNotices,
} from '../../store/questions/deliveries.js'
import { writeNotice } from '../mail/messages.js'
import type { SharedJob } from './job.js'

const SHARE = 'notices'

/** Sends what is due longest, and with it what is due to the same member. False when nothing was. */
export async function sendDueNotice(
  services: Pick<Services, 'database' | 'log' | 'accounts' | 'publicUrl'>,
): Promise<boolean> {
  const { database, log } = services
  const due = await database.transaction(SHARE, async (tx) => {
    const taken = await takeDueNotices(tx, retrySeconds)
    for (const notice of taken ?? []) {
      // Decided meanwhile: no mail is needed.
      if (notice.state !== 'waiting') await endNotice(tx, notice, 'not needed any more')
      else if (notice.channel === 'all') await fanOut(tx, notice)
    }
    return taken
  })
  if (due === null) return false
  const [first, ...others] = due.filter(({ state, channel }) => state === 'waiting' && channel === 'mail')
  if (first === undefined) return true
  const mail = [first, ...others] as const
  const named = { question_id: first.questionId, kind: first.kind, notices: mail.length }
  try {
    await send(services, mail)
    await noteMail(database.sql, mail)
    log.info(named, 'a mail about questions was sent')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    log.warn({ ...named, attempts: first.attempts + 1, error }, 'a mail about questions could not be sent')
    for (const notice of mail) {
      if (notice.attempts + 1 >= MAX_ATTEMPTS) await endNotice(database.sql, notice, reason)
      else await noteFailure(database.sql, notice, reason)
    }
  }
  return true
}

async function send(
  services: Pick<Services, 'accounts' | 'publicUrl'>,
  notices: readonly [DueNotice, ...DueNotice[]],
): Promise<void> {
  const [first] = notices
  if (first.email === null) throw new Error('the member is gone')
  const message = writeNotice(notices, (questionId) => questionUrl(services, questionId))
  await services.accounts.mail.send(first.email, message, `${first.questionId}-${first.kind}-${first.recipient}`)
}

export const noticesJob: SharedJob = { name: 'send-notices', shared: true, ownLane: true, run: sendDueNotice }
