import type { Mailer } from '../../../packages/server/src/process/mail/mailer.js'
import type { Message } from '../../../packages/server/src/process/mail/messages.js'

export interface Mailbox extends Mailer {
  readonly mails: { readonly to: string; readonly message: Message }[]
  /** The token of the newest mail to this address. */
  tokenFor(email: string): string
  failing: boolean
}

/** Takes mail in memory, for tests that are not about mail. */
export function createMailbox(): Mailbox {
  const mails: { to: string; message: Message }[] = []
  return {
    delivery: 'sent',
    mails,
    failing: false,
    async send(to, message) {
      if (this.failing) throw new Error('the mail server is down')
      mails.push({ to, message })
    },
    tokenFor: (email) => {
      const mail = mails.findLast(({ to }) => to === email)
      if (mail === undefined) throw new Error(`no mail to ${email}`)
      return tokenIn(mail.message.text)
    },
    close: () => {},
  }
}

export function tokenIn(text: string): string {
  const token = /#token=([\w-]+)/.exec(text)?.[1]
  if (token === undefined) throw new Error('the mail holds no token')
  return token
}
