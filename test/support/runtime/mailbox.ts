import type { Mailer } from '../../../packages/server/src/process/mail/mailer.js'
import type { Message } from '../../../packages/server/src/process/mail/messages.js'

export interface Mailbox extends Mailer {
  readonly mails: { readonly to: string; readonly message: Message }[]
  /** The token of the newest mail to this address. */
  tokenFor(email: string): string
  failing: boolean
  /** Mails that a slow server is taking at this moment. */
  readonly beingSent: number
  /** The server is slow from now on: it takes no mail until what is returned is called. */
  hold(): () => void
}

/** Takes mail in memory, for tests that are not about mail. */
export function createMailbox(): Mailbox {
  const mails: { to: string; message: Message }[] = []
  let held: Promise<void> = Promise.resolve()
  let beingSent = 0
  return {
    delivery: 'sent',
    mails,
    failing: false,
    async send(to, message) {
      if (this.failing) throw new Error('the mail server is down')
      beingSent += 1
      await held
      beingSent -= 1
      mails.push({ to, message })
    },
    get beingSent() {
      return beingSent
    },
    hold: () => {
      let letGo = () => {}
      held = new Promise((done) => {
        letGo = done
      })
      return letGo
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
