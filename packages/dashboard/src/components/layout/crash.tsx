import { type ErrorComponentProps, useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import { ApiProblem } from '../../api/api.js'
import { Failure } from './states.js'

const AGAIN_MS = 5_000

/** Shown when a page cannot be displayed at all. If the server was unreachable, the page retries by itself. */
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
          title: 'this page could not be displayed',
          detail: `${error instanceof Error ? error.message : 'Unknown error'}. Try reloading it: the server may have been updated while it was open.`,
        })
  return (
    <main className="door">
      <title>Error · Countersign</title>
      <Failure problem={problem} onRetry={() => (unanswered ? router.invalidate() : location.reload())} />
    </main>
  )
}
