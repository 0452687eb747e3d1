import type { Block, ContractFailure, JsonValue, LedgerQuestion, TimelineCall } from '@countersign/protocol'
import { Badge } from '../../components/basic/badge.js'
import { Hash } from '../../components/basic/hash.js'
import { Icon } from '../../components/basic/icon.js'
import { JsonText } from '../../components/basic/json-text.js'
import { Name, Text } from '../../components/basic/text.js'
import { detailMeaning, reasonMeaning, reasonTitle } from '../../text/reasons.js'
import { plainText } from '../../text/visible-text.js'
import { QuestionLink } from './question-link.js'
import { NoReceipt, ReceiptLine } from './receipt-line.js'

interface CallCardProps {
  readonly seq: number
  readonly call: TimelineCall
  /** What people are asked about it. */
  readonly question?: LedgerQuestion | undefined
}

/** One call: the decision, the rule behind it, and the outcome. It has a URL of its own. */
export function CallCard({ seq, call, question }: CallCardProps) {
  const id = `call-${seq}-${call.index}`
  const allowed = call.decision === 'allow'
  // Neither allowed nor refused.
  const isAsked = call.reasons.length === 0 && !allowed && question !== undefined
  return (
    <article
      className={allowed ? 'call call-allow' : isAsked ? 'call' : 'call call-block'}
      id={id}
      tabIndex={-1}
      aria-labelledby={`${id}-name`}
    >
      <header className="call-head">
        <Badge tone={allowed ? 'allow' : isAsked ? 'accent' : 'block'}>
          <Icon name={allowed ? 'check' : isAsked ? 'questions' : 'cross'} size={14} />
          {allowed ? 'Allowed' : isAsked ? 'Asked' : 'Blocked'}
        </Badge>
        <h4 id={`${id}-name`}>
          <Name value={call.tool_name} />
        </h4>
        <a href={`#${id}`} className="call-link" aria-label="Link to this call" title="Link to this call">
          <Icon name="link" size={16} />
        </a>
      </header>
      <Arguments value={call.arguments} />
      {call.reasons.map((block) => (
        <Reason key={`${block.reason}-${block.detail ?? ''}`} block={block} />
      ))}
      {call.checkpoints.length === 0 ? null : (
        <p className="call-note">
          Asked for approval: <Text value={call.checkpoints.join(', ')} />
        </p>
      )}
      {question === undefined ? null : (
        <>
          <p className="call-note">{STEPS[question.step]}</p>
          <QuestionLink questionId={question.question_id} />
        </>
      )}
      {allowed ? <ReceiptLine call={call} /> : isAsked ? null : <NoReceipt />}
      {call.argument_hash === null ? null : (
        <p className="call-hashes">
          <Hash label="Arguments" value={call.argument_hash} />
          {call.receipt?.result_hash == null ? null : <Hash label="Result" value={call.receipt.result_hash} />}
          <span>
            Call id <Name value={call.call_id} />
          </span>
        </p>
      )}
    </article>
  )
}

const STEPS = {
  asked: 'People were asked about it. It did not run.',
  waiting: 'The same call was proposed before, and still waited for people. It did not run.',
  used: 'Allowed because people approved it.',
} as const satisfies Record<LedgerQuestion['step'], string>

/** A reason with its rule, what was expected and found, and the remedy. */
export function Reason({ block }: { block: Block }) {
  return (
    <section className="reason">
      <h5>
        {reasonTitle(block.reason)}
        {block.detail === undefined ? null : (
          <span className="reason-detail">
            <Text value={block.detail} />
          </span>
        )}
      </h5>
      <p className="reason-meaning">
        {detailMeaning(block.detail) ?? reasonMeaning(block.reason)}.
        {block.contract_file === undefined ? null : (
          <>
            {' '}
            The rule is in <Name value={block.contract_file} />.
          </>
        )}
      </p>
      {block.failures.length === 0 ? null : <Failures failures={block.failures} />}
      <p className="remedy">
        <strong>What to do</strong> <Text value={block.remedy} />
      </p>
    </section>
  )
}

const Failures = ({ failures }: { failures: readonly ContractFailure[] }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region needs focus
  <div className="table-scroll" tabIndex={0}>
    <table className="table failures">
      <thead>
        <tr>
          <th scope="col">Where</th>
          <th scope="col">Rule</th>
          <th scope="col">Expected</th>
          <th scope="col">Found</th>
        </tr>
      </thead>
      <tbody>
        {failures.map((failure, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two failures may be equal in every field
          <tr key={at} title={failure.message === undefined ? undefined : plainText(failure.message)}>
            <td data-label="Where">
              <Name value={failure.path} />
            </td>
            <td data-label="Rule">
              <Name value={failure.operator} />
            </td>
            {failure.expected === undefined && failure.found === undefined && failure.message !== undefined ? (
              <td data-label="Expected" colSpan={2}>
                <Text value={failure.message} />
              </td>
            ) : (
              <>
                <td data-label="Expected">
                  <Value value={failure.expected} />
                </td>
                <td data-label="Found" className="found">
                  <Value value={failure.found} />
                </td>
              </>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

const Value = ({ value }: { value: JsonValue | undefined }) =>
  value === undefined ? <span className="quiet">not stored or absent</span> : <Name value={JSON.stringify(value)} />

function Arguments({ value }: { value: JsonValue | null }) {
  if (value === null)
    return <p className="call-note quiet">The arguments were not stored, were erased, or do not match their hash.</p>
  return <JsonText value={value} />
}
