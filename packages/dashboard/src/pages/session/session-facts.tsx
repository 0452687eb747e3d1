import type { SessionDetail } from '@countersign/protocol'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useApi } from '../../api/use-api.js'
import { Allowed } from '../../components/basic/allowed.js'
import { StatusBadge } from '../../components/basic/badge.js'
import { Hash } from '../../components/basic/hash.js'
import { Labels } from '../../components/basic/labels.js'
import { Text } from '../../components/basic/text.js'
import { Ago } from '../../components/basic/time.js'
import { count, money, plural } from '../../text/format.js'
import { AddLabel } from './add-label.js'

export function SessionFacts({ detail }: { detail: SessionDetail }) {
  const { session, row, pending, sticky_labels, keys } = detail
  return (
    <dl className="facts">
      <Fact name="State">
        <StatusBadge status={session.status} activity={session.activity} />
      </Fact>
      <Fact name="Agent">
        <Link to="/sessions" search={{ agent: row.agent }}>
          <Text value={row.agent} />
        </Link>
        {session.environment === null ? '' : ` in ${session.environment}`}
      </Fact>
      {session.principal_proof === null ? null : <Fact name="Principal">{PROOFS[session.principal_proof]}</Fact>}
      <Fact name="Calls">
        <Link to="/calls" search={{ session: row.session_id, decision: 'allow' }} data-count={row.allowed}>
          {count(row.allowed)} allowed
        </Link>
        ,{' '}
        <Link
          to="/calls"
          search={{ session: row.session_id, decision: 'block' }}
          className={row.blocked === 0 ? '' : 'blocked'}
          data-count={row.blocked}
        >
          {count(row.blocked)} blocked
        </Link>
      </Fact>
      <Questions sessionId={row.session_id} />
      {pending.length === 0 ? null : (
        <Fact name="Open">
          {pending.map((call) => (
            <span key={call.pending_call_id} className="open-call">
              <Text value={call.tool_name} className="name" /> {call.state === 'in_doubt' ? 'in doubt' : 'pending'}
            </span>
          ))}
        </Fact>
      )}
      <Fact name="Cost">
        {money(row.actual_cost)} <span className="quiet">in the currency of your pricing</span>
      </Fact>
      <Fact name="Plan">
        <Hash
          label={session.plan_source === 'approved' ? 'approved' : 'from the client'}
          value={session.compiled_hash}
        />
      </Fact>
      {keys.length === 0 ? null : (
        <Fact name="Kept per key">
          {keys.map(({ kind, name, keys: kept }, at) => (
            <span key={`${kind} ${name}`} title={KEPT[kind]}>
              {at === 0 ? '' : ', '}
              <Text value={name} className="name" /> for {plural(kept, 'value')}
            </span>
          ))}
        </Fact>
      )}
      {session.tool_filter === null ? null : (
        <Fact name="Tool filter">
          <Text value={session.tool_filter.join(', ') || 'no tools'} />
        </Fact>
      )}
      {session.workflow_id === null ? null : (
        <Fact name="Workflow">
          <Link to="/workflows/$workflowId" params={{ workflowId: session.workflow_id }}>
            <Text value={session.workflow_id} />
          </Link>
          {session.role === null ? null : (
            <>
              {' '}
              as <Text value={session.role} />
            </>
          )}
        </Fact>
      )}
      <Fact name="Started">
        <Ago at={session.created_at} />
      </Fact>
      {session.ended_at === null ? null : (
        <Fact name="Ended">
          <Ago at={session.ended_at} />
        </Fact>
      )}
      <Fact name="Labels">
        <span className="fact-labels">
          {session.labels.length === 0 ? null : <Labels labels={session.labels} most={12} sticky={sticky_labels} />}
          <Allowed to="addLabelByPerson">
            <AddLabel session={session} />
          </Allowed>
        </span>
      </Fact>
    </dl>
  )
}

/** The questions to people about its calls; nothing where there are none. */
function Questions({ sessionId }: { sessionId: string }) {
  const { data } = useApi('listQuestions', { query: { session_id: sessionId } }, { pollMs: 10_000 })
  if (data === undefined || data.items.length === 0) return null
  const waiting = data.items.filter(({ state }) => state === 'waiting').length
  return (
    <Fact name="Questions">
      <Link to="/questions" search={{ state: 'any', session: sessionId }} data-count={data.items.length}>
        {plural(data.items.length, 'question')} to people
      </Link>
      {waiting === 0 ? '' : `, ${count(waiting)} waiting`}
    </Fact>
  )
}

/** How it is known for whom the session acts. */
const PROOFS = {
  proven: 'proven by a token',
  as_told: 'as its program told',
  no_person: 'no person, as its key says',
} as const

/** What is kept for each order, customer or account that the arguments name. */
const KEPT = {
  bindings: 'a value that later arguments must equal',
  envelopes: 'a bound for later arguments',
  aggregates: 'a sum or a number of calls',
  openings: 'earlier calls that still open a later one',
} as const

const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)
