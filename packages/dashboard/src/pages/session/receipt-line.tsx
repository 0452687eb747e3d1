import type { TimelineCall } from '@countersign/protocol'
import { Badge, type Tone } from '../../components/basic/badge.js'
import { Text } from '../../components/basic/text.js'
import { duration, fullTime } from '../../text/format.js'
import { plainText } from '../../text/visible-text.js'

const OUTCOMES = {
  succeeded: { word: 'Succeeded', tone: 'allow' },
  failed: { word: 'Failed', tone: 'block' },
  not_executed: { word: 'Not executed', tone: 'neutral' },
  unknown: { word: 'Outcome unknown', tone: 'doubt' },
} as const satisfies Record<string, { word: string; tone: Tone }>

const EVIDENCE = { reported: 'reported by the client', executed: 'executed by the wrapper' } as const

/** The outcome of an allowed call, and how strong the evidence is. */
export function ReceiptLine({ call: { receipt, pending_call_id, commit_requirement } }: { call: TimelineCall }) {
  if (receipt === null) {
    return (
      <p className="receipt">
        {pending_call_id === null ? (
          <>
            <Badge>Not run</Badge> Another call of the same response was blocked, and the gate rejected them all.
          </>
        ) : (
          <>
            <Badge tone="doubt">Waiting for a receipt</Badge> It is not known yet whether it ran.
          </>
        )}
      </p>
    )
  }
  const { word, tone } = OUTCOMES[receipt.outcome]
  return (
    <div className="receipt">
      <p>
        <Badge tone={tone}>{word}</Badge> {EVIDENCE[receipt.evidence_level]}
        {receipt.started_at === null || receipt.finished_at === null
          ? ''
          : `, in ${duration(receipt.started_at, receipt.finished_at)}`}
        {receipt.block_reason === undefined ? '' : `; stopped after it was allowed: ${receipt.block_reason}`}
        {receipt.at_level || receipt.block_reason !== undefined
          ? ''
          : `; the contract requires evidence at level ${commit_requirement}, so the state did not advance`}
        {receipt.late ? '; it arrived late and counts as evidence only' : ''}.{' '}
        <a href={`#event-${receipt.seq}`}>Receipt in event {receipt.seq}</a>
      </p>
      {receipt.approvals.map((approval) => (
        <p key={approval.checkpoint_id}>
          Checkpoint: {APPROVALS[approval.decision]}
          {approval.decided_by === null ? '' : ': '}
          {approval.decided_by === null ? null : <Text value={approval.decided_by} />}
          {approval.decided_at === null ? '' : `, ${timeOf(approval.decided_at)}`}
          {approval.reason === null ? (
            '.'
          ) : (
            <>
              {' '}
              <q>
                <Text value={approval.reason} />
              </q>
            </>
          )}
        </p>
      ))}
    </div>
  )
}

/** The program wrote it, so it may be anything. */
const timeOf = (text: string): string => (Number.isNaN(new Date(text).getTime()) ? plainText(text) : fullTime(text))

/** Why a blocked call cannot have run. */
export const NoReceipt = () => (
  <p className="receipt">
    <Badge>No receipt</Badge> A blocked call is not registered: its wrapper does not run it, and no receipt is accepted
    for it.
  </p>
)

const APPROVALS = {
  approve: 'a person approved it',
  deny: 'a person denied it',
  timeout: 'no answer in time',
} as const
