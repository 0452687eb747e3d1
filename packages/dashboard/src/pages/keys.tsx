import type { KeyView } from '@countersign/protocol'
import { type FormEvent, useState } from 'react'
import { useApi, useChange } from '../api/use-api.js'
import { Button } from '../components/basic/button.js'
import { Name, Text } from '../components/basic/text.js'
import { Ago } from '../components/basic/time.js'
import { ConfirmDialog } from '../components/form/confirm-dialog.js'
import { Field } from '../components/form/field.js'
import { FormProblem } from '../components/form/form-problem.js'
import { NewKey } from '../components/layout/new-key.js'
import { Page, Panel } from '../components/layout/page.js'
import { Empty, Loaded } from '../components/layout/states.js'

export function KeysPage() {
  const keys = useApi('listKeys', {}, { pollMs: 15_000 })
  const [fresh, setFresh] = useState<string | null>(null)
  return (
    <Page
      title="API keys"
      lead="A key lets your program talk to Countersign. Once revoked, its next request is refused."
    >
      {fresh === null ? null : (
        <Panel title="Your new key" aside={<Button onClick={() => setFresh(null)}>I saved it</Button>}>
          <NewKey apiKey={fresh} />
        </Panel>
      )}
      <Loaded reading={keys} rows={3}>
        {({ keys: list, limit }) => {
          const active = list.filter((key) => key.revoked_at === null)
          const revoked = list.filter((key) => key.revoked_at !== null)
          return (
            <>
              <Panel title="Active" aside={`${active.length} of ${limit}`}>
                {active.length === 0 ? (
                  <Empty title="No active keys">
                    <p>Create one below; your program reads it from COUNTERSIGN_API_KEY.</p>
                  </Empty>
                ) : (
                  <ActiveKeys keys={active} />
                )}
                <NewKeyForm full={active.length >= limit} limit={limit} onMade={setFresh} />
              </Panel>
              {revoked.length === 0 ? null : (
                <Panel title="Revoked">
                  <ul className="rows">
                    {revoked.map((key) => (
                      <li key={key.key_id} className="key-row quiet">
                        <Text value={key.name} />
                        <Name value={`${key.prefix}…`} />
                        <span>revoked {key.revoked_at === null ? '' : <Ago at={key.revoked_at} />}</span>
                      </li>
                    ))}
                  </ul>
                </Panel>
              )}
            </>
          )
        }}
      </Loaded>
    </Page>
  )
}

function ActiveKeys({ keys }: { keys: readonly KeyView[] }) {
  const [revoking, setRevoking] = useState<KeyView | null>(null)
  const revoke = useChange('revokeKey', ['listKeys', 'loadLimits', 'listAudit'])
  return (
    <>
      <ul className="rows">
        {keys.map((key) => (
          <li key={key.key_id} className="key-row">
            <strong>
              <Text value={key.name} />
            </strong>
            <Name value={`${key.prefix}…`} />
            <span className="quiet">
              created <Ago at={key.created_at} />, {key.last_used_at === null ? 'never used' : 'last used '}
              {key.last_used_at === null ? null : <Ago at={key.last_used_at} />}
            </span>
            <Button kind="danger" onClick={() => setRevoking(key)}>
              Revoke
            </Button>
          </li>
        ))}
      </ul>
      {revoking === null ? null : (
        <ConfirmDialog
          title="Revoke this key?"
          confirm="Revoke key"
          kind="danger"
          change={revoke}
          onClose={() => setRevoking(null)}
          onConfirm={() =>
            revoke.mutate({ params: { key_id: revoking.key_id }, body: {} }, { onSuccess: () => setRevoking(null) })
          }
        >
          <p>
            Programs that use <Text value={revoking.name} /> are refused from their next request on. In Govern mode, all
            their tool calls are then blocked. This cannot be undone.
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}

function NewKeyForm({ full, limit, onMade }: { full: boolean; limit: number; onMade: (apiKey: string) => void }) {
  const create = useChange('createKey', ['listKeys', 'loadLimits', 'listAudit'])
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = event.currentTarget
    create.mutate(
      { body: { name: String(new FormData(form).get('name')).trim() } },
      {
        onSuccess: ({ api_key }) => {
          form.reset()
          onMade(api_key)
          scrollTo({ top: 0 })
        },
      },
    )
  }
  if (full) return <p className="quiet">All {limit} keys are in use. Revoke one to create another.</p>
  return (
    <form className="inline-form" onSubmit={submit}>
      <Field
        label="Name of the new key"
        name="name"
        placeholder="For example, billing worker"
        maxLength={100}
        required
      />
      <Button kind="primary" type="submit" busy={create.isPending}>
        Create key
      </Button>
      <FormProblem problem={create.error} />
    </form>
  )
}
