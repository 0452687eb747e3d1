import { useState } from 'react'
import { useApi } from '../api/use-api.js'
import { Button } from '../components/basic/button.js'
import { CopyButton } from '../components/basic/copy-button.js'
import { Page, Panel } from '../components/layout/page.js'
import { Empty, Loaded } from '../components/layout/states.js'
import { AddressForm } from './webhooks/address-form.js'
import { WebhookItem } from './webhooks/webhook-item.js'

/** Addresses that are notified of questions, for owners. */
export function WebhooksPage() {
  const webhooks = useApi('listWebhooks', {}, { pollMs: 15_000 })
  const [secret, setSecret] = useState<string | null>(null)
  return (
    <Page
      title="Webhooks"
      lead="Addresses that are notified when a question is asked, answered or ends, and of reminders. A message links to the question and holds no arguments."
    >
      {secret === null ? null : (
        <Panel title="The new secret" aside={<Button onClick={() => setSecret(null)}>I saved it</Button>}>
          <div className="new-key">
            <p className="lead">
              Save it now: it is shown only once. Messages are signed with it as in Standard Webhooks; your program
              refuses those whose signature does not fit.
            </p>
            <div className="new-key-value">
              <code>{secret}</code>
              <CopyButton text={secret} label="Copy" what="the secret" />
            </div>
          </div>
        </Panel>
      )}
      <Loaded reading={webhooks} rows={3}>
        {({ webhooks: list, limit }) => (
          <Panel title="Addresses" aside={`${list.length} of ${limit}`}>
            {list.length === 0 ? (
              <Empty title="No webhooks">
                <p>People are told by email and see questions here. Add an address for a program, such as a chat.</p>
              </Empty>
            ) : (
              <ul className="rows" aria-label="Webhooks">
                {list.map((webhook) => (
                  <WebhookItem key={webhook.webhook_id} webhook={webhook} onSecret={setSecret} />
                ))}
              </ul>
            )}
            {list.length >= limit ? (
              <p className="note">{limit} webhooks is the most: remove one to add another.</p>
            ) : (
              <AddressForm onSecret={setSecret} />
            )}
          </Panel>
        )}
      </Loaded>
    </Page>
  )
}
