import type { Services } from '../../context/context.js'
import { questionUrl } from '../../questions/views.js'
import { type DueNotice, endNotice, fanOut, noteFailure, takeDueNotice } from '../../store/questions/deliveries.js'
import { writeNotice } from '../mail/messages.js'
import type { SharedJob } from './job.js'

const SHARE = 'notices'
/** 1, 2, 4 … minutes apart: the last try is eight hours after the first. */
const MAX_ATTEMPTS = 10
const retrySeconds = (attempts: number): number => 60 * 2 ** attempts

/** Sends one notice of a question that is due. False when none was. */
export async function sendDueNotice(
  services: Pick<Services, 'database' | 'log' | 'accounts' | 'publicUrl'>,
): Promise<boolean> {
  const { database, log } = services
  const notice = await database.transaction(SHARE, async (tx) => {
    const due = await takeDueNotice(tx, retrySeconds)
    // Decided meanwhile: nobody is bothered any more.
    if (due !== null && due.state !== 'waiting') await endNotice(tx, due, 'not needed any more')
    else if (due?.channel === 'all') await fanOut(tx, due)
    return due
  })
  if (notice === null) return false
  if (notice.state !== 'waiting' || notice.channel === 'all') return true
  const named = { question_id: notice.questionId, kind: notice.kind, channel: notice.channel }
  try {
    await send(services, notice)
    await endNotice(database.sql, notice, null)
    log.info(named, 'a notice of a question was sent')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    log.warn({ ...named, attempts: notice.attempts + 1, error }, 'a notice of a question could not be sent')
    if (notice.attempts + 1 >= MAX_ATTEMPTS) await endNotice(database.sql, notice, reason)
    else await noteFailure(database.sql, notice, reason)
  }
  return true
}

async function send(services: Pick<Services, 'accounts' | 'publicUrl'>, notice: DueNotice): Promise<void> {
  if (notice.email === null) throw new Error('the member is gone')
  const link = questionUrl(services, notice.questionId)
  const reference = `${notice.questionId}-${notice.kind}-${notice.recipient}`
  await services.accounts.mail.send(notice.email, writeNotice(notice, link), reference)
}

export const noticesJob: SharedJob = { name: 'send-notices', shared: true, ownLane: true, run: sendDueNotice }
