import type { MailDelivery } from '@countersign/protocol'
import { Text } from '../basic/text.js'

/** Where to find a mailed link. A server that cannot send email must not claim that it did. */
export function MailNote({ mail, to }: { mail: MailDelivery; to?: string }) {
  const address = to === undefined ? null : <Text value={to} />
  if (mail === 'sent') return address === null ? <>The link is sent by email.</> : <>The link is sent to {address}.</>
  return (
    <>
      This server cannot send email, so nothing is sent{address === null ? null : <> to {address}</>}.{' '}
      {mail === 'terminal'
        ? 'The link is in the terminal where the server was started, and in a file in the “outbox” folder of its data folder.'
        : 'Its operator finds the link in the “outbox” folder of its data folder; the server log names the file.'}
    </>
  )
}
