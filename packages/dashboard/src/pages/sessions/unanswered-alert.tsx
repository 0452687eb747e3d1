import { Link } from '@tanstack/react-router'
import { useApi } from '../../api/use-api.js'
import { Icon } from '../../components/basic/icon.js'
import { Ago } from '../../components/basic/time.js'
import { plural } from '../../text/format.js'

/** Calls that were allowed and never answered may have happened: somebody must look. Nothing where there are none. */
export function UnansweredAlert() {
  const { data } = useApi('loadOverview', { query: { range: '24h' } }, { pollMs: 30_000 })
  return data === undefined ? null : (
    <UnansweredStrip calls={data.totals.unanswered_calls} oldest={data.oldest_unanswered} />
  )
}

export function UnansweredStrip({ calls, oldest }: { calls: number; oldest: string | null }) {
  if (calls === 0) return null
  return (
    <p className="strip strip-warn" role="status">
      <Icon name="alert" size={16} />
      <span>
        {plural(calls, 'allowed call was', 'allowed calls were')} never answered
        {oldest === null ? '' : ', the oldest from '}
        {oldest === null ? null : <Ago at={oldest} />}. The tool may have run: check where it acts.{' '}
        <Link to="/calls" search={{ decision: 'unanswered' }} data-count={calls}>
          {calls === 1 ? 'Show it' : 'Show them'}
        </Link>
      </span>
    </p>
  )
}
