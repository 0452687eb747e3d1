import type { PlanDetail } from '@countersign/protocol'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useApi } from '../api/use-api.js'
import { Allowed } from '../components/basic/allowed.js'
import { Badge } from '../components/basic/badge.js'
import { Name, Text } from '../components/basic/text.js'
import { Ago } from '../components/basic/time.js'
import { Freshness, Page, Panel } from '../components/layout/page.js'
import { Loaded } from '../components/layout/states.js'
import { afterName, fullTime } from '../text/format.js'
import { Backtest } from './plan/backtest.js'
import { DecidePlan } from './plan/decide-plan.js'
import { Effect } from './plan/effect.js'
import { PlanFiles } from './plan/plan-files.js'
import { PlanHistory } from './plan/plan-history.js'
import { PlanRates } from './plan/plan-rates.js'
import { loadUnsaved } from './plan/unsaved-draft.js'
import { PLAN_TONES } from './plans.js'

/** An approved plan is compared with the one that it replaced, any other with the current one. */
function comparedWith({ plan, running }: PlanDetail): string {
  if (plan.state === 'approved' || plan.state === 'superseded') return 'compared with the plan before it'
  return running === null ? 'no current plan' : 'compared with the current plan'
}

export function PlanPage() {
  const { planId } = useParams({ from: '/signed-in/plans/$planId' })
  // Edits that were not saved, in this browser, are taken up again.
  const [editing, setEditing] = useState(() => loadUnsaved(planId) !== null)
  const plan = useApi('loadPlan', { params: { plan_id: planId } }, { pollMs: 5_000 })
  const row = plan.data?.plan
  return (
    <Page
      title={row === undefined ? 'Plan' : `Plan for ${row.agent}`}
      heading={
        row === undefined ? undefined : (
          <>
            <Text value={row.agent} /> in {row.environment}
          </>
        )
      }
      lead={plan.data === undefined ? undefined : <PlanLead detail={plan.data} />}
      actions={
        <>
          <Freshness reading={plan} />
          {plan.data?.plan.state !== 'draft' ? null : (
            <Allowed to="approvePlan" otherwise="An owner can approve this plan.">
              <DecidePlan detail={plan.data} />
            </Allowed>
          )}
        </>
      }
    >
      <Loaded reading={plan} rows={6}>
        {(detail) => (
          <>
            <Effect detail={detail} />
            <PlanRates detail={detail} />
            <Remarks detail={detail} />
            <Panel
              title={detail.plan.state === 'draft' ? 'What approval would change' : 'What it changed'}
              aside={comparedWith(detail)}
            >
              <Changes detail={detail} />
            </Panel>
            <Backtest key={detail.plan.compiled_hash} detail={detail} />
            <PlanFiles detail={detail} editing={editing && detail.plan.state === 'draft'} onEditing={setEditing} />
            <PlanHistory planId={detail.plan.plan_id} />
          </>
        )}
      </Loaded>
    </Page>
  )
}

function PlanLead({ detail: { plan } }: { detail: PlanDetail }) {
  return (
    <>
      <Badge tone={PLAN_TONES[plan.state]}>{plan.state}</Badge>{' '}
      {plan.origin === 'learned' ? 'Drafted from learned contracts' : 'Submitted as a pack'}{' '}
      <Ago at={plan.created_at} />
      {plan.created_by === null ? '' : ' by '}
      {plan.created_by === null ? null : <Text value={plan.created_by} />}.
      {plan.decided_at === null || plan.decided_by === null ? null : (
        <>
          {' '}
          Decided {fullTime(plan.decided_at)} by <Text value={plan.decided_by} />
          {plan.decided_why === null ? '.' : ': '}
          {plan.decided_why === null ? null : (
            <q>
              <Text value={plan.decided_why} />
            </q>
          )}
        </>
      )}
    </>
  )
}

const EFFECTS = {
  allows: { tone: 'warn', word: 'allows more' },
  blocks: { tone: 'accent', word: 'blocks more' },
  changes: { tone: 'neutral', word: 'changes' },
} as const

function Changes({ detail: { changes, plan, running } }: { detail: PlanDetail }) {
  if (changes.length === 0) return <p className="quiet">No difference in what is allowed.</p>
  return (
    <>
      {plan.state === 'draft' && running === null ? (
        <p className="quiet">
          There is no approved plan to compare with. What the packs of programs block by now is in the effect above.
        </p>
      ) : null}
      <ul className="rows">
        {changes.map((change) => (
          <li key={`${change.tool_name} ${change.text}`} className="change">
            <Badge tone={EFFECTS[change.effect].tone}>{EFFECTS[change.effect].word}</Badge>
            {change.tool_name === null ? <span className="quiet">the session</span> : <Name value={change.tool_name} />}
            <Text value={afterName(change.tool_name, change.text)} />
          </li>
        ))}
      </ul>
    </>
  )
}

/** Blockers prevent approval; advisories only inform. */
function Remarks({ detail: { blockers, advisories, plan } }: { detail: PlanDetail }) {
  if (blockers.length + advisories.length === 0) return null
  return (
    <div className="columns">
      {blockers.length === 0 ? null : (
        <Panel title={plan.state === 'draft' ? 'Must be fixed before approval' : 'Blockers'}>
          <RemarkList remarks={blockers} tone="block" />
        </Panel>
      )}
      {advisories.length === 0 ? null : (
        <Panel title="Notes">
          <RemarkList remarks={advisories} tone="warn" />
        </Panel>
      )}
    </div>
  )
}

const RemarkList = ({ remarks, tone }: { remarks: PlanDetail['blockers']; tone: 'block' | 'warn' }) => (
  <ul className={`remarks remarks-${tone}`}>
    {remarks.map((remark) => (
      <li key={`${remark.code} ${remark.tool_name} ${remark.message}`}>
        {remark.tool_name === null ? null : <Name value={remark.tool_name} />}{' '}
        <Text value={afterName(remark.tool_name, remark.message)} />
      </li>
    ))}
  </ul>
)
