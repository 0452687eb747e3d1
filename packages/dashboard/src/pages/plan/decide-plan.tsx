import type { PlanDetail } from '@countersign/protocol'
import { useState } from 'react'
import { useChange } from '../../api/use-api.js'
import { Button } from '../../components/basic/button.js'
import { Text } from '../../components/basic/text.js'
import { ConfirmDialog } from '../../components/form/confirm-dialog.js'
import { Field } from '../../components/form/field.js'
import { plural, shortHash } from '../../text/format.js'
import { evidenceWords } from './backtest-words.js'

const STALE = ['loadPlan', 'listPlans', 'listAgents', 'listContracts', 'listAudit'] as const

/** Approves or rejects a draft, with a reason that is recorded. */
export function DecidePlan({ detail }: { detail: PlanDetail }) {
  const { plan, blockers } = detail
  const [asking, setAsking] = useState<'approve' | 'reject' | null>(null)
  /** The page polls while the dialog is open; what is approved is the plan that was there when it opened. */
  const [seen, setSeen] = useState(plan.compiled_hash)
  const [why, setWhy] = useState('')
  const approve = useChange('approvePlan', STALE)
  const reject = useChange('rejectPlan', STALE)
  const deciding = asking === 'approve' ? approve : reject
  const ask = (what: 'approve' | 'reject') => {
    setSeen(plan.compiled_hash)
    setAsking(what)
  }
  const confirm = () => {
    const params = { plan_id: plan.plan_id }
    const onSuccess = () => setAsking(null)
    if (asking === 'approve') {
      approve.mutate({ params, body: { why: why.trim(), compiled_hash: seen } }, { onSuccess })
    } else reject.mutate({ params, body: { why: why.trim() } }, { onSuccess })
  }
  return (
    <>
      <Button kind="danger" onClick={() => ask('reject')}>
        Reject
      </Button>
      <Button
        kind="primary"
        icon="check"
        disabled={blockers.length > 0}
        title={blockers.length > 0 ? `${plural(blockers.length, 'blocker')} must be fixed first` : undefined}
        onClick={() => ask('approve')}
      >
        Approve
      </Button>
      {asking === null ? null : (
        <ConfirmDialog
          title={asking === 'approve' ? 'Approve this plan?' : 'Reject this draft?'}
          confirm={asking === 'approve' ? 'Approve plan' : 'Reject draft'}
          kind={asking === 'approve' ? 'primary' : 'danger'}
          change={deciding}
          onConfirm={confirm}
          onClose={() => setAsking(null)}
        >
          <p>
            {asking === 'approve' ? (
              <>
                New sessions of <Text value={plan.agent} /> in {plan.environment} are governed by plan{' '}
                <code>{shortHash(seen)}</code> from now on. Running sessions keep the plan they started with.
              </>
            ) : (
              'The draft stays on record as rejected and is never enforced.'
            )}
          </p>
          {asking === 'approve' ? <p className="quiet">{evidenceWords(detail)}</p> : null}
          <Field
            label="Reason (recorded with the decision)"
            value={why}
            onChange={(event) => setWhy(event.target.value)}
            maxLength={1_000}
            required
          />
        </ConfirmDialog>
      )}
    </>
  )
}
