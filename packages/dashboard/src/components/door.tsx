import type { ReactNode } from 'react'
import type { ApiProblem } from '../api.js'
import { sentence } from '../format.js'
import { Mark } from './icon.js'
import { Text } from './text.js'

interface DoorProps {
  readonly title: string
  readonly lead?: ReactNode
  readonly wide?: boolean
  readonly children: ReactNode
}

/** The frame of the pages before a sign-in. */
export function Door({ title, lead, wide = false, children }: DoorProps) {
  return (
    <main className={wide ? 'door door-wide' : 'door'}>
      <title>{`${title} · Countersign`}</title>
      <div className="door-brand">
        <Mark size={34} />
        <span>Countersign</span>
      </div>
      <section className="door-card">
        <h1>{title}</h1>
        {lead === undefined ? null : <p className="lead">{lead}</p>}
        {children}
      </section>
    </main>
  )
}

export function FormProblem({ problem }: { problem: ApiProblem | null }) {
  if (problem === null) return null
  const wait = problem.retryAfterSeconds
  return (
    <p className="form-problem" role="alert">
      <Text value={sentence(problem.detail ?? problem.message)} />.
      {problem.status === 429 && wait !== undefined ? ` Try again in ${waitWords(wait)}.` : ''}
    </p>
  )
}

const waitWords = (seconds: number): string =>
  seconds < 90 ? `${Math.ceil(seconds)} seconds` : `${Math.ceil(seconds / 60)} minutes`
