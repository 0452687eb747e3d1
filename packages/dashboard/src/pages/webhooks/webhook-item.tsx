import type { Webhook } from '@countersign/protocol'
import { useId, useState } from 'react'
import { useChange } from '../../api/use-api.js'
import { Badge } from '../../components/basic/badge.js'
import { Button } from '../../components/basic/button.js'
import { Name, Text } from '../../components/basic/text.js'
import { Ago, Until } from '../../components/basic/time.js'
import { ConfirmDialog } from '../../components/form/confirm-dialog.js'
import { FormProblem } from '../../components/form/form-problem.js'
import { AddressForm } from './address-form.js'
import { WebhookMessages } from './webhook-messages.js'

interface WebhookItemProps {
  readonly webhook: Webhook
  readonly onSecret: (secret: string) => void
}

/** One address: how it does, and what an owner can do with it. */
export function WebhookItem({ webhook, onSecret }: WebhookItemProps) {
  const { webhook_id, url, disabled_at } = webhook
  const [open, setOpen] = useState<'messages' | 'address' | null>(null)
  const [asking, setAsking] = useState<'roll' | 'remove' | null>(null)
  const test = useChange('testWebhook')
  const change = useChange('changeWebhook', ['listWebhooks', 'listWebhookDeliveries', 'listAudit'])
  const params = { webhook_id }
  const nameId = useId()
  const toggle = (what: 'messages' | 'address') => setOpen(open === what ? null : what)
  return (
    <li className="webhook" aria-labelledby={nameId}>
      <div className="webhook-head">
        <strong id={nameId}>
          <Name value={url} />
        </strong>
        <State webhook={webhook} />
      </div>
      <div className="webhook-actions">
        <Button busy={test.isPending} onClick={() => test.mutate({ params })}>
          Send a test
        </Button>
        <Button aria-expanded={open === 'messages'} onClick={() => toggle('messages')}>
          Messages
        </Button>
        <Button aria-expanded={open === 'address'} onClick={() => toggle('address')}>
          Change
        </Button>
        <Button onClick={() => setAsking('roll')}>Roll the secret</Button>
        <Button
          busy={change.isPending}
          onClick={() => change.mutate({ params, body: { disabled: disabled_at === null } })}
        >
          {disabled_at === null ? 'Disable' : 'Enable'}
        </Button>
        <Button kind="danger" onClick={() => setAsking('remove')}>
          Remove
        </Button>
      </div>
      <p role="status" className={test.data?.ok === false ? 'field-problem' : 'quiet'}>
        {test.data === undefined ? null : test.data.ok ? (
          `The test has arrived: the address answered ${test.data.status}.`
        ) : (
          <>
            The test has not arrived: <Text value={test.data.error ?? 'nothing was answered'} />.
          </>
        )}
      </p>
      <FormProblem problem={test.error ?? change.error} />
      {open === 'messages' ? <WebhookMessages webhookId={webhook_id} /> : null}
      {open === 'address' ? <AddressForm webhook={webhook} onChanged={() => setOpen(null)} /> : null}
      {asking === 'roll' ? <Roll webhook={webhook} onSecret={onSecret} onClose={() => setAsking(null)} /> : null}
      {asking === 'remove' ? <Remove webhook={webhook} onClose={() => setAsking(null)} /> : null}
    </li>
  )
}

function State({ webhook: { created_at, old_secret_until, failing_since, disabled_at } }: { webhook: Webhook }) {
  return (
    <span className="quiet">
      added <Ago at={created_at} />{' '}
      {disabled_at !== null ? (
        <Badge tone="block">
          disabled <Ago at={disabled_at} />
        </Badge>
      ) : failing_since !== null ? (
        <Badge tone="warn">
          failing, first <Ago at={failing_since} />
        </Badge>
      ) : null}{' '}
      {old_secret_until === null ? null : (
        <Badge>
          old secret ends <Until at={old_secret_until} />
        </Badge>
      )}
    </span>
  )
}

function Roll({ webhook, onSecret, onClose }: WebhookItemProps & { readonly onClose: () => void }) {
  const roll = useChange('rollWebhookSecret', ['listWebhooks', 'listAudit'])
  return (
    <ConfirmDialog
      title="Roll the secret?"
      confirm="Make a new secret"
      change={roll}
      onClose={onClose}
      onConfirm={() =>
        roll.mutate(
          { params: { webhook_id: webhook.webhook_id } },
          {
            onSuccess: ({ secret }) => {
              onSecret(secret)
              onClose()
            },
          },
        )
      }
    >
      <p>
        For 24 hours messages to <Name value={webhook.url} /> are signed with the new secret and the present one. A
        secret from before that ends now.
      </p>
    </ConfirmDialog>
  )
}

function Remove({ webhook, onClose }: { readonly webhook: Webhook; readonly onClose: () => void }) {
  const remove = useChange('removeWebhook', ['listWebhooks', 'listAudit'])
  return (
    <ConfirmDialog
      title="Remove this webhook?"
      confirm="Remove webhook"
      kind="danger"
      change={remove}
      onClose={onClose}
      onConfirm={() => remove.mutate({ params: { webhook_id: webhook.webhook_id } }, { onSuccess: onClose })}
    >
      <p>
        No more messages go to <Name value={webhook.url} />, including those that wait to be sent.
      </p>
    </ConfirmDialog>
  )
}
