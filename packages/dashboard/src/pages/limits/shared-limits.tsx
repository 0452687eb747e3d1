import type { LimitKey, SharedLimitUsage } from '@countersign/protocol'
import { type FormEvent, useState } from 'react'
import { useApi } from '../../api/use-api.js'
import { Bar } from '../../components/basic/bar.js'
import { Button } from '../../components/basic/button.js'
import { Hash } from '../../components/basic/hash.js'
import { Text } from '../../components/basic/text.js'
import { Field } from '../../components/form/field.js'
import { Panel } from '../../components/layout/page.js'
import { Loaded } from '../../components/layout/states.js'
import { count, dayTime, plural } from '../../text/format.js'

/** What is used of `shared_limits`, for the keys that use most of them or for one that is looked up. */
export function SharedLimits() {
  const [key, setKey] = useState('')
  const limits = useApi('listSharedLimits', key === '' ? {} : { query: { key } }, { pollMs: 10_000, keepLast: true })
  return (
    <Panel title="Limits over all sessions" aside="shared_limits of your contracts">
      <LookUp onKey={setKey} />
      <Loaded reading={limits} rows={3}>
        {({ limits: list, more }) => (
          <>
            {list.length > 0 ? null : (
              <p className="quiet">
                {key === ''
                  ? 'Nothing is used of any limit now. A limit is listed from its first call until its window has passed.'
                  : 'Nothing is counted for this key now. Check its spelling, or clear the field to see the keys that use most.'}
              </p>
            )}
            {list.map((limit) => (
              <Limit key={JSON.stringify([limit.name, limit.per, limit.counts, limit.window])} limit={limit} />
            ))}
            {more ? <p className="quiet">There are more limits. Only the first, by name, are listed here.</p> : null}
          </>
        )}
      </Loaded>
    </Panel>
  )
}

function LookUp({ onKey }: { onKey: (key: string) => void }) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    onKey(String(new FormData(event.currentTarget).get('key') ?? '').trim())
  }
  return (
    <form className="inline-form" onSubmit={submit}>
      <Field
        label="Look up a key"
        name="key"
        hint="A customer, a principal, an agent. Keys are stored as hashes, so the list cannot name them."
        maxLength={1_024}
        autoComplete="off"
      />
      <Button type="submit">Look up</Button>
    </form>
  )
}

const COUNTED = { calls: 'calls', sum: 'in total', cost: 'spent on model calls' } as const
const SCOPES = {
  argument: 'for each value of an argument',
  principal: 'for each principal',
  agent: 'for each agent',
  workflow: 'for each workflow',
  tenant: 'for all agents together',
} as const

function Limit({ limit }: { limit: SharedLimitUsage }) {
  const { name, per, counts, window, most, keys, keys_in_use, more } = limit
  const hidden = keys_in_use - keys.length
  return (
    <section className="shared-limit">
      <h3>
        <Text value={name} />
      </h3>
      <p className="cell-note">
        at most {count(Number(most))} {COUNTED[counts]} within {window}, {SCOPES[per]}
      </p>
      <ul className="meters">
        {keys.map((item) => (
          <KeyUsage key={item.id} item={item} limit={limit} />
        ))}
      </ul>
      {hidden <= 0 ? null : (
        <p className="quiet">
          {more ? 'At least ' : ''}
          {plural(hidden, 'more key')}, which {hidden === 1 ? 'uses' : 'use'} less.
        </p>
      )}
    </section>
  )
}

function KeyUsage({
  item: { id, name, used, frees_at },
  limit: { per, most },
}: {
  item: LimitKey
  limit: SharedLimitUsage
}) {
  const isUsedUp = Number(used) >= Number(most)
  return (
    <li>
      <div>
        {name !== null ? <Text value={name} /> : per === 'tenant' ? 'all agents' : <Hash label="key" value={id} />}
        {frees_at === null ? null : <span className="cell-note">less from {dayTime(new Date(frees_at))}</span>}
      </div>
      <Bar value={Number(used)} max={Number(most)} tone={isUsedUp ? 'block' : 'calm'} />
      <span className="number">
        {count(Number(used))} of {count(Number(most))} used
      </span>
    </li>
  )
}
