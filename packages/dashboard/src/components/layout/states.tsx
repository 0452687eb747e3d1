import { fixFor } from '@countersign/protocol'
import type { ReactNode } from 'react'
import type { ApiProblem } from '../../api/api.js'
import { sentence } from '../../text/format.js'
import { Button } from '../basic/button.js'
import { Icon } from '../basic/icon.js'
import { Text } from '../basic/text.js'

/** A page with nothing to show says what to do next. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <section className="empty">
      <h2>{title}</h2>
      {children}
    </section>
  )
}

export function Failure({ problem, onRetry }: { problem: ApiProblem; onRetry?: () => unknown }) {
  if (problem.code === 'ROLE_NEEDED') return <Refused problem={problem} />
  return (
    <section className="failure" role="alert">
      <Icon name="alert" size={22} />
      <div>
        <h2>{sentence(problem.message)}</h2>
        <p>
          <Text value={problem.detail ?? adviceFor(problem)} />
        </p>
        <p className="failure-facts">
          <span className="name">{problem.code}</span>
          {onRetry === undefined ? null : (
            <Button icon="refresh" onClick={() => void onRetry()}>
              Try again
            </Button>
          )}
        </p>
      </div>
    </section>
  )
}

/** Nothing failed: the person may not see it, or may not any more. */
const Refused = ({ problem }: { problem: ApiProblem }) => (
  <section className="empty" role="alert">
    <h2>{sentence(problem.message)}</h2>
    <p>
      <Text value={sentence(problem.detail ?? problem.message)} />. An owner of your organisation can change your role.
    </p>
  </section>
)

function adviceFor({ status, code, retryAfterSeconds }: ApiProblem): string {
  if (status === 0) return 'Check that the server is running and that you are online. The page keeps trying.'
  if (status === 429) return `The page tries again in ${retryAfterSeconds ?? 'a few'} seconds.`
  return sentence(`${fixFor(status, code) ?? 'go back and try again'}.`)
}

/** A placeholder, so that the layout does not jump when the content arrives. */
export function Loading({ rows = 4, label = 'Loading' }: { rows?: number; label?: string }) {
  return (
    <div className="loading" role="status">
      <span className="visually-hidden">{label}</span>
      {Array.from({ length: rows }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: placeholders have no identity
        <div key={index} className="loading-row" aria-hidden="true" />
      ))}
    </div>
  )
}

interface LoadedProps<T> {
  readonly reading: { data: T | undefined; error: ApiProblem | null; refetch: () => unknown }
  readonly rows?: number
  readonly children: (data: T) => ReactNode
}

/**
 * Loading, failed or loaded. Loaded data stays visible when a later request fails, with a warning above it; what the person
 * may no longer see does not.
 */
export function Loaded<T>({ reading: { data, error, refetch }, rows = 4, children }: LoadedProps<T>) {
  if (data === undefined || error?.code === 'ROLE_NEEDED')
    return error === null ? <Loading rows={rows} /> : <Failure problem={error} onRetry={refetch} />
  return (
    <>
      {error === null ? null : (
        <p className="strip strip-warn" role="status">
          <Icon name="alert" size={16} /> Out of date: {error.message}. The page keeps trying.
        </p>
      )}
      {children(data)}
    </>
  )
}
