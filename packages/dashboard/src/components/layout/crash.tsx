import { type ErrorComponentProps, useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import { ApiProblem } from '../../api/api.js'
import { MissingCode, reloadIfServed, reloadOnceServed } from '../../api/page-code.js'
import { Failure } from './states.js'

const AGAIN_MS = 5_000

/** Shown when nothing can be displayed at all. */
export const Crash = ({ error }: ErrorComponentProps) => (
  <main className="door">
    <CrashedPage error={error} />
  </main>
)

/** In place of a page that cannot be displayed; the navigation stays. Where the server was unreachable it tries again. */
export function CrashedPage({ error }: Pick<ErrorComponentProps, 'error'>) {
  const router = useRouter()
  const isCodeMissing = error instanceof MissingCode
  const unanswered = error instanceof ApiProblem && !isCodeMissing
  useEffect(() => {
    if (isCodeMissing) void reloadOnceServed()
    const again = isCodeMissing ? reloadOnceServed : unanswered ? () => router.invalidate() : null
    const timer = again === null ? undefined : setInterval(() => void again(), AGAIN_MS)
    return () => clearInterval(timer)
  }, [isCodeMissing, unanswered, router])
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
    <>
      <title>Error · Countersign</title>
      <Failure problem={problem} onRetry={() => (unanswered ? router.invalidate() : reloadIfServed())} />
    </>
  )
}
