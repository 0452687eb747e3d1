import { type ReactNode, useSyncExternalStore } from 'react'
import { useWaiting } from '../../api/use-waiting.js'
import { ago } from '../../text/format.js'
import { plainText } from '../../text/visible-text.js'
import { Icon } from '../basic/icon.js'
import { useNow } from '../basic/time.js'

interface PageProps {
  readonly title: string
  /** The heading, where it is more than the title text. */
  readonly heading?: ReactNode
  readonly lead?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}

/** A page in the frame. Its title counts what waits for an answer of the reader, so that the browser's tab says so. */
export function Page({ title, heading, lead, actions, children }: PageProps) {
  const mine = useWaiting()?.mine ?? 0
  return (
    <>
      <title>{`${mine === 0 ? '' : `(${mine}) `}${plainText(title)} · Countersign`}</title>
      <header className="page-header">
        <div>
          <h1>{heading ?? title}</h1>
          {lead === undefined ? null : <p className="lead">{lead}</p>}
        </div>
        {actions === undefined ? null : <div className="page-actions">{actions}</div>}
      </header>
      {children}
    </>
  )
}

interface FreshnessProps {
  readonly reading: { dataUpdatedAt: number; isFetching: boolean; error: unknown; refetch: () => unknown }
}

/** When the page was last updated; a click refreshes it. */
export function Freshness({ reading: { dataUpdatedAt, isFetching, error, refetch } }: FreshnessProps) {
  const now = useNow()
  const online = useOnline()
  const failing = error !== null || !online
  return (
    <button type="button" className="freshness" onClick={() => void refetch()} title="Refresh now">
      <span
        className={['pulse', isFetching && 'pulse-on', failing && 'pulse-off'].filter(Boolean).join(' ')}
        aria-hidden="true"
      />
      {dataUpdatedAt === 0
        ? isFetching
          ? 'Loading'
          : 'Not loaded'
        : // The page's clock moves in steps, so a reply can seem to come from the future.
          `${online ? (failing ? 'Not live' : 'Live') : 'Offline'}, updated ${ago(new Date(dataUpdatedAt).toISOString(), Math.max(now, dataUpdatedAt))}`}
      <Icon name="refresh" size={14} />
    </button>
  )
}

/** Whether the browser has a network: without one nothing fails, because nothing is asked. */
const useOnline = (): boolean =>
  useSyncExternalStore(
    (listener) => {
      addEventListener('online', listener)
      addEventListener('offline', listener)
      return () => {
        removeEventListener('online', listener)
        removeEventListener('offline', listener)
      }
    },
    () => navigator.onLine,
  )

export function Panel({ title, aside, children }: { title: string; aside?: ReactNode; children: ReactNode }) {
  return (
    <section className="panel">
      <header className="panel-header">
        <h2>{title}</h2>
        {aside === undefined ? null : <div className="panel-aside">{aside}</div>}
      </header>
      {children}
    </section>
  )
}
