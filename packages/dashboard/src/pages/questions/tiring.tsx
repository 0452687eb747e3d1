import type { DraftAskingLess, QuestionStats } from '@countersign/protocol'
import { Link } from '@tanstack/react-router'
import { useChange } from '../../api/use-api.js'
import { useMay } from '../../api/use-may.js'
import { Button } from '../../components/basic/button.js'
import { Name, Text } from '../../components/basic/text.js'
import { count, percent, plural, sentence } from '../../text/format.js'

type Rule = QuestionStats['rules'][number]

/** The first thing to know: which rules to change. */
export const Tiring = ({ rules }: { rules: readonly Rule[] }) =>
  rules.filter(({ tires }) => tires).map((rule) => <TiringRule key={`${rule.rule} ${rule.agent}`} rule={rule} />)

function TiringRule({ rule: { rule, agent, approved_share } }: { rule: Rule }) {
  const mayDraft = useMay()('draftAskingLess')
  const draft = useChange('draftAskingLess', ['listPlans'])
  const made = draft.data
  return (
    <div className="strip strip-warn">
      <div>
        <p>
          <strong>
            <Name value={rule} /> asks more than it helps.
          </strong>{' '}
          People approved {approved_share === null ? 'nearly all' : percent(approved_share)} of what it asked.
          {made === undefined ? ' Let it ask about less.' : null}
        </p>
        {draft.error === null ? null : (
          <p role="alert">
            No draft was made: <Text value={draft.error.detail ?? sentence(draft.error.message)} />.
          </p>
        )}
        {made === undefined ? null : <Made draft={made} />}
      </div>
      {made !== undefined ? (
        <Link to="/plans/$planId" params={{ planId: made.plan_id }} className="button button-plain">
          Review the draft
        </Link>
      ) : agent === null || !mayDraft ? (
        <Link to="/plans" search={agent === null ? {} : { agent }} className="button button-plain">
          Plans of the agent
        </Link>
      ) : (
        <Button busy={draft.isPending} onClick={() => draft.mutate({ body: { agent, rule } })}>
          Draft a plan that asks less
        </Button>
      )}
    </div>
  )
}

/** What the draft changes, and what it would have done to the calls that people decided. */
const Made = ({ draft: { change } }: { draft: DraftAskingLess }) =>
  change === null ? (
    <p>The draft was learned anew, also from the calls that people approved. Its page says what changes.</p>
  ) : (
    <p>
      The draft asks if <Text value={change.is} />. The plan in force asks if <Text value={change.was} />. Of{' '}
      {plural(change.decided, 'call')} that people decided, the draft would have asked about{' '}
      <strong>{count(change.still_asked)}</strong>
      {change.denied === 0
        ? '; none was denied or changed.'
        : `, including every one that was denied or changed (${count(change.denied)}).`}
    </p>
  )
