import type { PlanDetail, PlanRates as Rates } from '@countersign/protocol'
import { Link } from '@tanstack/react-router'
import { useChange } from '../../api/use-api.js'
import { Allowed } from '../../components/basic/allowed.js'
import { Button } from '../../components/basic/button.js'
import { Name } from '../../components/basic/text.js'
import { FormProblem } from '../../components/form/form-problem.js'
import { Panel } from '../../components/layout/page.js'
import { percent, plural } from '../../text/format.js'
import { loadUnsaved } from './unsaved-draft.js'

/** How often a learned plan asks and blocks: promised, chosen while it is a draft, and measured once it is approved. */
export function PlanRates({ detail }: { detail: PlanDetail }) {
  const { rates } = detail
  if (rates === null) return null
  return (
    <Panel title="How often it asks and blocks" aside={`measured on ${plural(rates.requests, 'captured request')}`}>
      <div className="rates">
        {rates.drift === null ? null : (
          <p className="strip strip-warn" role="status">
            {rates.drift.charAt(0).toUpperCase()}
            {rates.drift.slice(1)}.
          </p>
        )}
        <p>
          {detail.plan.state === 'draft' ? 'If you approve it, expect' : 'When it was approved, it promised'} a question
          to a person in up to <strong>{percent(rates.promised.asked)} of sessions</strong> and a blocked call in{' '}
          <strong>{percent(rates.promised.blocked)}</strong>, as long as the agent does work like the captured requests.
          Each of those was judged by what was learned without it.
        </p>
        {rates.demoted.length === 0 ? null : <Demoted demoted={rates.demoted} />}
        {rates.left_out === null ? null : <LeftOut agent={detail.plan.agent} leftOut={rates.left_out} />}
        {rates.measured === null ? null : <Measured agent={detail.plan.agent} measured={rates.measured} />}
        {detail.plan.state === 'draft' ? (
          <Allowed to="editPlan">
            <ChooseAlpha detail={detail} rates={rates} />
          </Allowed>
        ) : null}
      </div>
    </Panel>
  )
}

/** What was learned and did not fit: it asks where other rules block. */
function Demoted({ demoted }: { demoted: Rates['demoted'] }) {
  return (
    <>
      <p>
        {demoted.length === 1 ? 'One rule asks instead of blocking' : `${demoted.length} rules ask instead of blocking`}
        ,{demoted.length === 1 ? ' because it' : ' because they'} would wrongly block too many of the captured requests:
      </p>
      <ul className="remarks">
        {demoted.map(({ rule, share }) => (
          <li key={rule}>
            <Name value={rule} />: {percent(share)} of them
          </li>
        ))}
      </ul>
    </>
  )
}

/** What looks attacked teaches nothing: a person should see it before trusting the rest. */
function LeftOut({ agent, leftOut: { sessions, named } }: { agent: string; leftOut: NonNullable<Rates['left_out']> }) {
  const others = sessions - named.length
  return (
    <>
      <p>
        {sessions === 1 ? 'One captured session was' : `${sessions} captured sessions were`} not learned from, because{' '}
        {sessions === 1 ? 'it looks' : 'they look'} like an attack: a value came from an odd place, and the call was
        unlike the others. Look at {sessions === 1 ? 'it' : 'them'} in the{' '}
        <Link to="/captures" search={{ agent }}>
          captures of this agent
        </Link>
        :
      </p>
      <ul className="remarks">
        {named.map((session) => (
          <li key={session}>
            <Name value={session} />
          </li>
        ))}
        {others === 0 ? null : <li>and {others} more</li>}
      </ul>
    </>
  )
}

function Measured({ agent, measured }: { agent: string; measured: NonNullable<Rates['measured']> }) {
  const { sessions, asked, blocked } = measured
  if (sessions === 0) return <p className="quiet">No session has called a tool since its approval.</p>
  return (
    <p>
      Since its approval, of {sessions === 1 ? 'one session' : `the newest ${plural(sessions, 'session')}`}: asked in{' '}
      {percent(asked / sessions)}, blocked in {percent(blocked / sessions)}.{' '}
      <Link to="/sessions" search={{ agent }}>
        Sessions of this agent
      </Link>
    </p>
  )
}

/** The share of requests with a question about an unusual call is the owner's to choose. */
function ChooseAlpha({ detail: { plan, files, files_hash }, rates }: { detail: PlanDetail; rates: Rates }) {
  const edit = useChange('editPlan', ['loadPlan', 'listAudit'])
  const session = files.find(({ file }) => file === 'session.yaml')
  if (session === undefined || !ALPHA.test(session.text)) return null
  const choose = (alpha: number) => {
    const text = session.text.replace(ALPHA, `$1${alpha}`)
    const body = {
      files: files.map((file) => (file.file === session.file ? { ...file, text } : file)),
      files_hash,
    }
    edit.mutate({ params: { plan_id: plan.plan_id }, body })
  }
  const isEdited = loadUnsaved(plan.plan_id) !== null
  return (
    <>
      <p>
        How often may it ask because a call is unlike the captured ones? More questions catch more attacks. Questions
        about where a value comes from are added to that; the share in brackets holds both.
      </p>
      <div className="choices">
        {rates.choices.map(({ alpha, asked }) => (
          <Button
            key={alpha}
            kind={alpha === rates.alpha ? 'primary' : 'plain'}
            disabled={edit.isPending || isEdited || alpha === rates.alpha}
            title={isEdited ? 'Save or discard your edits first' : undefined}
            onClick={() => choose(alpha)}
          >
            Up to {percent(alpha)} ({percent(asked)} of those captured)
          </Button>
        ))}
      </div>
      <FormProblem problem={edit.error} />
    </>
  )
}

const ALPHA = /^( {2}alpha: ).*$/m
