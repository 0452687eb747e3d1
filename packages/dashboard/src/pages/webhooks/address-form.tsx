import type { Webhook } from '@countersign/protocol'
import { type FormEvent, useState } from 'react'
import { useChange } from '../../api/use-api.js'
import { Button } from '../../components/basic/button.js'
import { Field } from '../../components/form/field.js'
import { FormProblem } from '../../components/form/form-problem.js'

type AddressFormProps =
  | { readonly webhook: Webhook; readonly onChanged: () => void }
  | { readonly webhook?: undefined; readonly onSecret: (secret: string) => void }

/** The address of a new webhook, or another one for a webhook. */
export function AddressForm(props: AddressFormProps) {
  const { webhook } = props
  const [url, setUrl] = useState(webhook?.url ?? '')
  const create = useChange('createWebhook', ['listWebhooks', 'listAudit'])
  const change = useChange('changeWebhook', ['listWebhooks', 'listAudit'])
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const body = { url: url.trim() }
    if (props.webhook !== undefined) {
      change.mutate({ params: { webhook_id: props.webhook.webhook_id }, body }, { onSuccess: props.onChanged })
      return
    }
    create.mutate(
      { body },
      {
        onSuccess: ({ secret }) => {
          setUrl('')
          props.onSecret(secret)
        },
      },
    )
  }
  return (
    <form className="inline-form" onSubmit={submit}>
      <Field
        label={webhook === undefined ? 'Address of a new webhook' : 'New address'}
        type="url"
        placeholder="https://"
        maxLength={1_024}
        autoComplete="off"
        value={url}
        onChange={(event) => setUrl(event.target.value)}
        required
      />
      <Button kind="primary" type="submit" busy={create.isPending || change.isPending}>
        {webhook === undefined ? 'Add' : 'Save'}
      </Button>
      <FormProblem problem={create.error ?? change.error} />
    </form>
  )
}
