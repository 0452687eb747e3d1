import type { Quota } from '@countersign/protocol'
import { useApi } from '../api/use-api.js'
import { Bar } from '../components/basic/bar.js'
import { Freshness, Page, Panel } from '../components/layout/page.js'
import { Loaded } from '../components/layout/states.js'
import { count, dataSize, percent } from '../text/format.js'
import { SharedLimits } from './limits/shared-limits.js'

const BUCKETS: Readonly<Record<string, { title: string; words: string }>> = {
  write: { title: 'Writes', words: 'all POST requests that have no line of their own here' },
  read: { title: 'Reads', words: 'all GET requests that have no line of their own here' },
  proposal: { title: 'Proposals', words: 'counted separately, so that a turn that was prepared can be decided' },
  capture: { title: 'Captures', words: 'batches of observed calls; counted separately from governed turns' },
  evidence: { title: 'Evidence', words: 'receipts; counted separately, so that you can prove what ran' },
  dashboard: { title: 'Dashboard', words: 'these pages' },
}

export function LimitsPage() {
  const limits = useApi('loadLimits', {}, { pollMs: 5_000 })
  return (
    <Page
      title="Limits and usage"
      lead="What your organisation may use, how much is left right now, and what is used of the limits in your contracts."
      actions={<Freshness reading={limits} />}
    >
      <Loaded reading={limits} rows={5}>
        {({ quota, buckets, bytes, runs, keys }) => (
          <>
            <Panel title="Requests per minute" aside={`quota ${quota}`}>
              <ul className="meters">
                {buckets.map((bucket) => (
                  <li key={bucket.bucket}>
                    <div>
                      <strong>{BUCKETS[bucket.bucket]?.title ?? bucket.bucket}</strong>
                      <span className="cell-note">{BUCKETS[bucket.bucket]?.words}</span>
                    </div>
                    <Meter value={bucket.available} max={bucket.per_minute} />
                    <span className="number">
                      {count(Math.floor(bucket.available))} of {count(bucket.per_minute)} left
                    </span>
                  </li>
                ))}
              </ul>
              <p className="quiet">
                A bucket refills evenly over a minute. When it is empty, the server answers 429 with Retry-After, and
                the SDK waits. A turn of an agent is a preflight, a proposal and receipts: three requests. Kills,
                labels, bypass reports and revoked keys are always accepted.
              </p>
              <MoreRoom quota={quota} />
            </Panel>
            <Panel title="Data per day" aside={dataSize(bytes.per_day)}>
              <Meter value={bytes.available} max={bytes.per_day} />
              <p>
                {dataSize(bytes.available)} of {dataSize(bytes.per_day)} left.
              </p>
              <p className="quiet">
                Counted on the bodies of requests, and refilled evenly over a day. When nothing is left, the server
                answers 429 and says when it takes more; kills are always accepted, and receipts as long as a second
                day&rsquo;s data lasts.
              </p>
            </Panel>
            <div className="columns">
              <Panel title="Runs, last 30 days" aside={percent(runs.limit === 0 ? 0 : runs.used / runs.limit)}>
                <Meter value={runs.used} max={runs.limit} kind="used" />
                <p>
                  {count(runs.used)} of {count(runs.limit)} used. Each backtest of a plan is one run.
                </p>
              </Panel>
              <Panel title="Active API keys">
                <Meter value={keys.active} max={keys.limit} kind="used" />
                <p>
                  {count(keys.active)} of {count(keys.limit)} in use.
                </p>
              </Panel>
            </div>
          </>
        )}
      </Loaded>
      <SharedLimits />
    </Page>
  )
}

interface MeterProps {
  readonly value: number
  readonly max: number
  readonly kind?: 'left' | 'used'
}

/** Highlighted when little is left. */
function Meter({ value, max, kind = 'left' }: MeterProps) {
  const left = max === 0 ? 0 : (kind === 'left' ? value : max - value) / max
  return <Bar value={value} max={max} tone={left < 0.15 ? 'block' : 'calm'} />
}

/** Who can change the quota and how: this page cannot. */
function MoreRoom({ quota }: { quota: Quota }) {
  const { data } = useApi('me', {})
  if (data === undefined || quota === 'scale') return null
  const more = quota === 'free' ? 'team' : 'scale'
  return (
    <p className="quiet">
      Need more? The operator of this server can raise your quota:{' '}
      <code>{`npx countersign tenant quota ${data.user.tenant_id} ${more}`}</code>
    </p>
  )
}
