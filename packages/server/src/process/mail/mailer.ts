import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { emailSchema, type MailDelivery } from '@countersign/protocol'
import { createTransport } from 'nodemailer'
import { makeFolder } from '../../base/make-folder.js'
import type { Message } from './messages.js'

export interface Mailer {
  /** How a mail reaches its reader, for the text that people see. */
  readonly delivery: MailDelivery
  /** Resolves when the mail was handed over; rejects when it should be tried again. */
  send(to: string, message: Message, reference: string): Promise<void>
  close(): void
}

const TIMEOUT_MS = 10_000

/** Over SMTP. The recipient is one checked address, so that no header and no second recipient can be built from it. */
export function createSmtpMailer({ url, from }: { url: string; from: string }): Mailer {
  const transport = createTransport(url, { from })
  return {
    delivery: 'sent',
    async send(to, { subject, text, html }, reference) {
      // The library would split a list into recipients.
      if (!emailSchema.safeParse(to).success) throw new Error('an email must have one plain recipient address')
      await withTimeout(
        transport.sendMail({
          from,
          to: { name: '', address: to },
          envelope: { from: addressOf(from), to: [to] },
          subject,
          text,
          html,
          headers: { 'X-Entity-Ref-ID': reference, 'Auto-Submitted': 'auto-generated' },
          disableFileAccess: true,
          disableUrlAccess: true,
        }),
      )
    },
    close: () => transport.close(),
  }
}

/** Without SMTP: each mail is a file that only its owner can read, and `tell` hears which. `show` is the terminal. */
export function createOutboxMailer({
  folder,
  tell,
  show,
}: {
  folder: string
  tell: (file: string) => void
  show?: ((sentence: string) => void) | undefined
}): Mailer {
  return {
    delivery: show === undefined ? 'outbox' : 'terminal',
    async send(to, message, reference) {
      makeFolder(folder, 0o700)
      const file = join(folder, `${reference}.txt`)
      await writeFile(file, `To: ${to}\nSubject: ${message.subject}\n\n${message.text}`, { mode: 0o600 })
      tell(file)
      show?.(`mail "${message.subject}": ${message.link}`)
    },
    close: () => {},
  }
}

const addressOf = (from: string): string => /<([^<>]+)>\s*$/.exec(from)?.[1] ?? from

async function withTimeout<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the mail server did not answer within ${TIMEOUT_MS} ms`)), TIMEOUT_MS)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
