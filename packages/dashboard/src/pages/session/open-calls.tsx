import type { SessionDetail } from '@countersign/protocol'
import { Icon } from '../../components/basic/icon.js'
import { Name } from '../../components/basic/text.js'
import { Ago } from '../../components/basic/time.js'
import { plural } from '../../text/format.js'

/** The calls of this session that were allowed and will not be answered. */
export function OpenCalls({ detail: { row, pending } }: { detail: SessionDetail }) {
  if (row.unanswered === 0) return null
  return (
    <section className="strip strip-warn" aria-label="Unanswered calls">
      <Icon name="alert" size={16} />
      <div>
        <p>
          {plural(row.unanswered, 'allowed call was', 'allowed calls were')} never answered: whether the tool ran is not
          known. Check where it acts; then report the outcome with <code>onInDoubt</code> by opening the session again,
          or kill it.
        </p>
        <ul>
          {pending.map((call) => (
            <li key={call.pending_call_id}>
              <Name value={call.tool_name} /> allowed <Ago at={call.proposed_at} />
            </li>
          ))}
        </ul>
      </div>
    </section>
  )
}
