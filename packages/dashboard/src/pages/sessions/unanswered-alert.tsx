import { Link } from '@tanstack/react-router'
import type { Answer } from '../../api/api.js'
import { useApi } from '../../api/use-api.js'
import { Icon } from '../../components/basic/icon.js'
import { Ago } from '../../components/basic/time.js'
import { countOrMore } from '../../text/format.js'

/** Calls that were allowed and never answered may have happened: a person must look. Nothing where there are none. */
export function UnansweredAlert() {
  const { data } = useApi('loadOverview', { query: { range: '24h' } }, { pollMs: 30_000 })
  return data === undefined ? null : <UnansweredStrip overview={data} />
}

export function UnansweredStrip({ overview }: { overview: Answer<'loadOverview'> }) {
  const { totals, oldest_unanswered: oldest, unanswered_more: isMore = false } = overview
  const calls = totals.unanswered_calls
  if (calls === 0 && !isMore) return null
  const isOne = calls === 1 && !isMore
  return (
    <p className="strip strip-warn" role="status">
      <Icon name="alert" size={16} />
      <span>
        {countOrMore(calls, isMore)} {isOne ? 'allowed call was' : 'allowed calls were'} never answered
        {oldest === null ? '' : ', the oldest from '}
        {oldest === null ? null : <Ago at={oldest} />}. The tool may have run: check where it acts.{' '}
        <Link to="/calls" search={{ decision: 'unanswered' }} data-count={calls}>
          {isOne ? 'Show it' : 'Show them'}
        </Link>
      </span>
    </p>
  )
}
