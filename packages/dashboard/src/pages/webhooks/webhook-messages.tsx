import type { WebhookDelivery } from '@countersign/protocol'
import { Link } from '@tanstack/react-router'
import { useApi } from '../../api/use-api.js'
import { Badge } from '../../components/basic/badge.js'
import { Name, Text } from '../../components/basic/text.js'
import { Ago, Until } from '../../components/basic/time.js'
import { Loaded } from '../../components/layout/states.js'
import { plural } from '../../text/format.js'

/** The last messages to a webhook, and what was answered. */
export function WebhookMessages({ webhookId }: { webhookId: string }) {
  const messages = useApi('listWebhookDeliveries', { params: { webhook_id: webhookId } }, { pollMs: 5_000 })
  return (
    <Loaded reading={messages} rows={2}>
      {({ deliveries }) =>
        deliveries.length === 0 ? (
          <p className="quiet">Nothing has been sent yet. Tests are not listed here.</p>
        ) : (
          <ul className="rows webhook-messages" aria-label="Messages">
            {deliveries.map((message) => (
              <li key={message.message_id}>
                <span>
                  <Name value={message.event} /> of{' '}
                  <Link to="/questions/$questionId" params={{ questionId: message.question_id }}>
                    {message.question_id}
                  </Link>
                  , <Ago at={message.at} />
                </span>
                <Outcome message={message} />
              </li>
            ))}
          </ul>
        )
      }
    </Loaded>
  )
}

function Outcome({ message: { sent_at, next_try_at, attempts, status, error } }: { message: WebhookDelivery }) {
  if (sent_at !== null) {
    return (
      <span>
        <Badge tone="allow">{status}</Badge> <span className="quiet">{plural(attempts, 'attempt')}</span>
      </span>
    )
  }
  if (error === null) return <span className="quiet">about to be sent</span>
  return (
    <span className="field-problem">
      {plural(attempts, 'attempt')}: <Text value={error} />
      {next_try_at === null ? (
        ', given up'
      ) : (
        <>
          , again <Until at={next_try_at} />
        </>
      )}
    </span>
  )
}
