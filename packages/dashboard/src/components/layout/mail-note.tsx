import type { MailDelivery } from '@countersign/protocol'
import { Text } from '../basic/text.js'

/** Where the link of a mail is to be found. A service without a mail server sends none, and must not say that it did. */
export function MailNote({ mail, to }: { mail: MailDelivery; to?: string }) {
  const address = to === undefined ? null : <Text value={to} />
  if (mail === 'sent')
    return address === null ? <>The link goes out by mail.</> : <>The link goes to {address} by mail.</>
  return (
    <>
      This service has no mail server, so nothing is sent{address === null ? null : <> to {address}</>}.{' '}
      {mail === 'terminal'
        ? 'The link stands in the terminal in which the service was started, and in a file in the folder “outbox” of its data folder.'
        : 'Whoever runs it finds the link in a file in the folder “outbox” of its data folder; its log names the file.'}
    </>
  )
}
