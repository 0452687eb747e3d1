import { type ErrorComponentProps, useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import { ApiProblem } from '../../api/api.js'
import { Failure } from './states.js'

const AGAIN_MS = 5_000

/** What is shown when a page cannot be shown at all. Where the service did not answer it is asked again, by itself too. */
export function Crash({ error }: ErrorComponentProps) {
  const router = useRouter()
  const unanswered = error instanceof ApiProblem
  useEffect(() => {
    const timer = unanswered ? setInterval(() => void router.invalidate(), AGAIN_MS) : undefined
    return () => clearInterval(timer)
  }, [unanswered, router])
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
      <Failure problem={problem} onRetry={() => (unanswered ? router.invalidate() : location.reload())} />
    </main>
  )
}
