import type { Webhook } from '@countersign/protocol'
import { type FormEvent, useState } from 'react'
import { useApi, useChange } from '../api/use-api.js'
import { Badge } from '../components/basic/badge.js'
import { Button } from '../components/basic/button.js'
import { CopyButton } from '../components/basic/copy-button.js'
import { Name } from '../components/basic/text.js'
import { Ago } from '../components/basic/time.js'
import { ConfirmDialog } from '../components/form/confirm-dialog.js'
import { Field } from '../components/form/field.js'
import { FormProblem } from '../components/form/form-problem.js'
import { Page, Panel } from '../components/layout/page.js'
import { Empty, Loaded } from '../components/layout/states.js'
import { dayTime } from '../text/format.js'
import { plainText } from '../text/visible-text.js'

/** Where notices of questions are posted, for owners. */
export function WebhooksPage() {
  const webhooks = useApi('listWebhooks', {}, { pollMs: 15_000 })
  const [secret, setSecret] = useState<string | null>(null)
  return (
    <Page
      title="Webhooks"
      lead="Addresses that are told when people are asked, reminded and have decided. A message names the question and holds no arguments."
    >
      {secret === null ? null : (
        <Panel
          title="The secret of your new webhook"
          aside={<Button onClick={() => setSecret(null)}>I saved it</Button>}
        >
          <div className="new-key">
            <p className="lead">
              Save it now: it is shown only once. Messages are signed with it as in Standard Webhooks; refuse those
              whose signature does not fit.
            </p>
            <div className="new-key-value">
              <code>{secret}</code>
              <CopyButton text={secret} label="Copy" what="the secret" />
            </div>
          </div>
        </Panel>
      )}
      <Loaded reading={webhooks} rows={3}>
        {({ webhooks: list }) => (
          <Panel title="Addresses">
            {list.length === 0 ? (
              <Empty title="No webhooks">
                <p>
                  People are told by email and see questions here. Add an address for everything else, such as a chat.
                </p>
              </Empty>
            ) : (
              <Addresses webhooks={list} />
            )}
            <NewWebhook onMade={setSecret} />
          </Panel>
        )}
      </Loaded>
    </Page>
  )
}

function Addresses({ webhooks }: { webhooks: readonly Webhook[] }) {
  const [removing, setRemoving] = useState<Webhook | null>(null)
  const remove = useChange('removeWebhook', ['listWebhooks', 'listAudit'])
  return (
    <>
      <ul className="rows" aria-label="Webhooks">
        {webhooks.map((webhook) => (
          <li key={webhook.webhook_id} className="webhook-row">
            <strong>
              <Name value={webhook.url} />
            </strong>
            <span className="quiet">
              added <Ago at={webhook.created_at} />{' '}
              {webhook.failing_since === null ? null : (
                <Badge tone="block">failing since {dayTime(new Date(webhook.failing_since))}</Badge>
              )}
            </span>
            <Button kind="danger" onClick={() => setRemoving(webhook)} aria-label={`Remove ${plainText(webhook.url)}`}>
              Remove
            </Button>
          </li>
        ))}
      </ul>
      {removing === null ? null : (
        <ConfirmDialog
          title="Remove this webhook?"
          confirm="Remove webhook"
          kind="danger"
          change={remove}
          onClose={() => setRemoving(null)}
          onConfirm={() =>
            remove.mutate({ params: { webhook_id: removing.webhook_id } }, { onSuccess: () => setRemoving(null) })
          }
        >
          <p>
            <Name value={removing.url} /> is told nothing any more, also not of what waits to be sent.
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}

function NewWebhook({ onMade }: { onMade: (secret: string) => void }) {
  const [url, setUrl] = useState('')
  const create = useChange('createWebhook', ['listWebhooks', 'listAudit'])
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    create.mutate(
      { body: { url: url.trim() } },
      {
        onSuccess: ({ secret }) => {
          setUrl('')
          onMade(secret)
        },
      },
    )
  }
  return (
    <form className="inline-form" onSubmit={submit}>
      <Field
        label="Address of the new webhook"
        type="url"
        placeholder="https://"
        maxLength={1_024}
        autoComplete="off"
        value={url}
        onChange={(event) => setUrl(event.target.value)}
        required
      />
      <Button kind="primary" type="submit" busy={create.isPending}>
        Add
      </Button>
      <FormProblem problem={create.error} />
    </form>
  )
}
