import type { ErrorComponentProps } from '@tanstack/react-router'
import { ApiProblem } from '../api.js'
import { Failure } from './states.js'

/** What is shown when a page cannot be shown at all. */
export function Crash({ error, reset }: ErrorComponentProps) {
  const problem =
    error instanceof ApiProblem
      ? error
      : new ApiProblem({
          status: 500,
          code: 'INTERNAL',
          title: 'this page could not be shown',
          detail: `${error instanceof Error ? error.message : 'Something unknown was thrown'}. Reloading may help: the service may have been updated while the page was open.`,
        })
  return (
    <main className="door">
      <title>Trouble · Countersign</title>
      <Failure problem={problem} onRetry={() => (error instanceof ApiProblem ? reset() : location.reload())} />
    </main>
  )
}
