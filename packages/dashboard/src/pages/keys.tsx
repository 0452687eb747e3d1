import type { KeyView } from '@countersign/protocol'
import { useState } from 'react'
import { useApi, useChange } from '../api/use-api.js'
import { Badge } from '../components/basic/badge.js'
import { Button } from '../components/basic/button.js'
import { Name, Text } from '../components/basic/text.js'
import { Ago, Until, useNow } from '../components/basic/time.js'
import { ConfirmDialog } from '../components/form/confirm-dialog.js'
import { NewKey } from '../components/layout/new-key.js'
import { Page, Panel } from '../components/layout/page.js'
import { Empty, Loaded } from '../components/layout/states.js'
import { isExpired, keyScope } from './keys/key-scope.js'
import { NewKeyForm } from './keys/new-key-form.js'

export function KeysPage() {
  const keys = useApi('listKeys', {}, { pollMs: 15_000 })
  const now = useNow()
  const [fresh, setFresh] = useState<string | null>(null)
  return (
    <Page
      title="API keys"
      lead="A key lets your program talk to Countersign. Once revoked or expired, its next request is refused."
    >
      {fresh === null ? null : (
        <Panel title="Your new key" aside={<Button onClick={() => setFresh(null)}>I saved it</Button>}>
          <NewKey apiKey={fresh} />
        </Panel>
      )}
      <Loaded reading={keys} rows={3}>
        {({ keys: list, limit }) => {
          const ended = list.filter((key) => key.revoked_at !== null || isExpired(key, now))
          const active = list.filter((key) => !ended.includes(key))
          return (
            <>
              <Panel title="Active" aside={`${active.length} of ${limit}`}>
                {active.length === 0 ? (
                  <Empty title="No active keys">
                    <p>Create one below; your program reads it from COUNTERSIGN_API_KEY.</p>
                  </Empty>
                ) : (
                  <ActiveKeys keys={active} now={now} />
                )}
                <NewKeyForm full={active.length >= limit} limit={limit} onMade={setFresh} />
              </Panel>
              {ended.length === 0 ? null : (
                <Panel title="Revoked and expired">
                  <ul className="rows">
                    {ended.map((key) => (
                      <li key={key.key_id} className="key-row quiet">
                        <Text value={key.name} />
                        <Name value={`${key.prefix}…`} />
                        <EndOf revokedAt={key.revoked_at} expiresAt={key.expires_at} />
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

function EndOf({ revokedAt, expiresAt }: { revokedAt: string | null; expiresAt: string | null }) {
  const at = revokedAt ?? expiresAt
  return (
    <span>
      {revokedAt === null ? 'expired' : 'revoked'} {at === null ? '' : <Ago at={at} />}
    </span>
  )
}

const SOON_MS = 7 * 86_400_000

function ActiveKeys({ keys, now }: { keys: readonly KeyView[]; now: number }) {
  const [revoking, setRevoking] = useState<KeyView | null>(null)
  const revoke = useChange('revokeKey', ['listKeys', 'loadLimits', 'listAudit'])
  return (
    <>
      <ul className="rows">
        {keys.map((key) => {
          const scope = keyScope(key)
          return (
            <li key={key.key_id} className="key-row">
              <strong>
                <Text value={key.name} />
              </strong>
              <Name value={`${key.prefix}…`} />
              <span className="quiet">
                {scope === null ? null : (
                  <>
                    <Text value={scope} />,{' '}
                  </>
                )}
                created <Ago at={key.created_at} />, {key.last_used_at === null ? 'never used' : 'last used '}
                {key.last_used_at === null ? null : <Ago at={key.last_used_at} />}
                {key.expires_at === null ? null : (
                  <>
                    {' '}
                    <Badge tone={Date.parse(key.expires_at) - now < SOON_MS ? 'warn' : 'neutral'}>
                      expires <Until at={key.expires_at} />
                    </Badge>
                  </>
                )}
              </span>
              <Button kind="danger" onClick={() => setRevoking(key)}>
                Revoke
              </Button>
            </li>
          )
        })}
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
