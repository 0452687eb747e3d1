import type { AuditEntry } from '@countersign/protocol'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useApi } from '../api/use-api.js'
import { Allowed } from '../components/basic/allowed.js'
import { Badge, type Tone } from '../components/basic/badge.js'
import { Button } from '../components/basic/button.js'
import { Name, Text } from '../components/basic/text.js'
import { Select } from '../components/form/field.js'
import { Freshness, Page } from '../components/layout/page.js'
import { Pager } from '../components/layout/pager.js'
import { Empty, Loaded } from '../components/layout/states.js'
import { fullTime } from '../text/format.js'
import { signInWords } from '../text/roles.js'
import { DownloadAudit } from './audit/download-audit.js'
import { ANY, PeriodFilter, TextFilter } from './sessions/filter-fields.js'
import { timeBounds } from './sessions/time-bounds.js'

const TONES: Partial<Record<AuditEntry['action'], Tone>> = {
  login_failed: 'warn',
  key_revoked: 'warn',
  plan_approved: 'allow',
  tool_approved: 'allow',
  plan_rejected: 'block',
  session_killed: 'block',
  workflow_killed: 'block',
  label_added: 'accent',
  content_erased: 'doubt',
  question_approved: 'allow',
  question_denied: 'block',
  member_invited: 'accent',
  member_joined: 'accent',
  member_changed: 'accent',
  member_disabled: 'warn',
  member_removed: 'warn',
  webhook_disabled: 'warn',
  webhook_removed: 'warn',
}

/** What was done, in words. */
export const ACTIONS: Record<AuditEntry['action'], string> = {
  signup: 'Account created',
  login: 'Signed in',
  login_failed: 'Sign-in failed',
  logout: 'Signed out',
  password_reset_requested: 'Password reset requested',
  password_reset: 'Password reset',
  email_verified: 'Email verified',
  password_changed: 'Password changed',
  name_changed: 'Name changed',
  sign_in_ended: 'Signed out elsewhere',
  provider_linked: 'Provider added',
  member_invited: 'Member invited',
  invitation_revoked: 'Invitation revoked',
  member_joined: 'Member joined',
  member_changed: 'Role or groups changed',
  member_disabled: 'Member disabled',
  member_enabled: 'Member enabled',
  member_removed: 'Member removed',
  key_created: 'Key created',
  key_revoked: 'Key revoked',
  issuer_added: 'Issuer listed',
  issuer_removed: 'Issuer removed',
  quota_changed: 'Quota changed',
  set_aside_retried: 'Work tried again',
  set_aside_dropped: 'Failed work dropped',
  sessions_archived: 'Sessions archived',
  plan_submitted: 'Plan submitted',
  plan_edited: 'Draft edited',
  plan_approved: 'Plan approved',
  plan_rejected: 'Plan rejected',
  tool_approved: 'Tool approved',
  session_killed: 'Session killed',
  workflow_killed: 'Workflow killed',
  label_added: 'Label added',
  content_erased: 'Content erased',
  run_started: 'Backtest started',
  question_approved: 'Question approved',
  question_denied: 'Question denied',
  question_asked_again: 'Question put again',
  webhook_added: 'Webhook added',
  webhook_changed: 'Webhook address changed',
  webhook_secret_rolled: 'Webhook secret rolled',
  webhook_disabled: 'Webhook disabled',
  webhook_enabled: 'Webhook enabled',
  webhook_removed: 'Webhook removed',
}

const ACTION_OPTIONS = [
  ANY,
  ...Object.entries(ACTIONS)
    .map(([value, label]) => ({ value, label }))
    .sort((one, other) => one.label.localeCompare(other.label)),
]

export function AuditPage() {
  const search = useSearch({ from: '/signed-in/audit' })
  const navigate = useNavigate()
  const filter = {
    who: search.who,
    action: search.action as AuditEntry['action'] | undefined,
    ...timeBounds(search),
  }
  const audit = useApi('listAudit', { query: { ...filter, cursor: search.cursor } }, { pollMs: 10_000, keepLast: true })
  const show = (next: Record<string, string>) => void navigate({ to: '/audit', search: next, replace: true })
  const change = (changed: Record<string, string>) => show({ ...search, ...changed, cursor: '' })
  const filtered = Object.values(search).some((value) => value !== '')
  return (
    <Page
      title="Audit trail"
      lead="Who did what, when and from where. Entries are added, never changed."
      actions={
        <>
          <Freshness reading={audit} />
          <Allowed to="listAudit">
            <DownloadAudit filter={filter} />
          </Allowed>
        </>
      }
    >
      <Allowed to="listAudit">
        <search className="filters">
          <TextFilter
            label="Who"
            name="who"
            value={search.who ?? ''}
            onChange={(name, value) => change({ [name]: value })}
            placeholder="Whole address or name of a key"
          />
          <Select
            label="Action"
            value={search.action ?? ''}
            options={ACTION_OPTIONS}
            onChange={(action) => change({ action })}
          />
          <PeriodFilter label="Time" search={search} onChange={change} />
          {filtered ? (
            <Button kind="quiet" icon="close" onClick={() => show({})}>
              Clear
            </Button>
          ) : null}
        </search>
      </Allowed>
      <Loaded reading={audit} rows={8}>
        {({ items, next }) =>
          items.length === 0 && filtered ? (
            <Empty title="No matching entries">
              <p>
                Who is a whole address, <code>operator</code>, <code>system</code>, or the name of a key. Try fewer
                filters or a longer period.
              </p>
            </Empty>
          ) : items.length === 0 ? (
            <Empty title="No entries yet">
              <p>Sign-ins, keys, approvals and kills appear here.</p>
            </Empty>
          ) : (
            <>
              <AuditTable entries={items} />
              <Pager to="/audit" search={search} what="entries" next={next} />
            </>
          )
        }
      </Loaded>
    </Page>
  )
}

const AuditTable = ({ entries }: { entries: readonly AuditEntry[] }) => (
  <table className="table table-cards">
    <thead>
      <tr>
        <th scope="col">Action</th>
        <th scope="col" className="column-who">
          Who
        </th>
        <th scope="col">Subject</th>
        <th scope="col">From</th>
        <th scope="col" className="right">
          When
        </th>
      </tr>
    </thead>
    <tbody>
      {entries.map((entry) => (
        <tr key={entry.audit_id}>
          <th scope="row" className="cell-main">
            <Badge tone={TONES[entry.action] ?? 'neutral'}>{ACTIONS[entry.action]}</Badge>
          </th>
          <td data-label="Who">
            <span>
              <Actor entry={entry} />
            </span>
          </td>
          <td
            data-label="Subject"
            className={entry.subject === null && entry.detail === null ? 'cell-none' : undefined}
          >
            <span>
              <Subject entry={entry} />
              {entry.detail === null ? null : (
                <span className="cell-note">
                  <Text value={entry.detail} />
                </span>
              )}
            </span>
          </td>
          <td data-label="From" className="nowrap">
            {entry.ip !== null ? (
              <Name value={entry.ip} />
            ) : entry.actor === 'system' ? null : (
              <span className="quiet">unknown</span>
            )}
          </td>
          <td data-label="When" className="right nowrap">
            <time dateTime={entry.at}>{fullTime(entry.at)}</time>
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)

function Actor({ entry: { action, actor, key, signed_in_by } }: { entry: AuditEntry }) {
  if (actor !== null) {
    return (
      <>
        <Text value={actor} />
        {signed_in_by === null ? null : (
          <span className="cell-note">
            signed in <Text value={signInWords(signed_in_by)} />
          </span>
        )}
      </>
    )
  }
  if (key === null) {
    // Older entries do not name the key.
    return <span className="quiet">{action === 'plan_submitted' ? 'a program with an API key' : 'not signed in'}</span>
  }
  return (
    <>
      API key <Text value={key.name} />
      <span className="cell-note">
        <Name value={`${key.prefix}…`} />
      </span>
    </>
  )
}

function Subject({ entry: { action, subject } }: { entry: AuditEntry }) {
  if (subject === null) return null
  if (action === 'session_killed' || action === 'content_erased' || action === 'label_added') {
    return (
      <Link to="/sessions/$sessionId" params={{ sessionId: subject }}>
        <Name value={subject} />
      </Link>
    )
  }
  if (action.startsWith('plan_') || action === 'run_started') {
    return (
      <Link to="/plans/$planId" params={{ planId: subject }}>
        <Name value={subject} />
      </Link>
    )
  }
  if (action.startsWith('question_')) {
    return (
      <Link to="/questions/$questionId" params={{ questionId: subject }}>
        <Name value={subject} />
      </Link>
    )
  }
  if (action === 'workflow_killed') {
    return (
      <Link to="/workflows/$workflowId" params={{ workflowId: subject }}>
        <Name value={subject} />
      </Link>
    )
  }
  return <Text value={subject} />
}
