import type { SessionActivity, SessionStatus } from '@countersign/protocol'
import type { ReactNode } from 'react'

export type Tone = 'neutral' | 'allow' | 'block' | 'warn' | 'doubt' | 'accent'

export const Badge = ({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) => (
  <span className={`badge badge-${tone}`}>{children}</span>
)

const STATUS = {
  RECOVERING: { tone: 'doubt', word: 'Recovering' },
  COMPROMISED: { tone: 'warn', word: 'Compromised' },
  KILLED: { tone: 'block', word: 'Killed' },
} as const

const ACTIVITY = {
  running: { tone: 'allow', word: 'Running' },
  idle: { tone: 'neutral', word: 'Idle' },
  ended: { tone: 'neutral', word: 'Ended' },
} as const satisfies Record<SessionActivity, { tone: Tone; word: string }>

/** The state of a session or workflow in one word: what is wrong with it or, where nothing is, whether it runs. */
export const StatusBadge = ({ status, activity }: { status: SessionStatus; activity: SessionActivity }) => {
  const { tone, word } = status === 'ACTIVE' ? ACTIVITY[activity] : STATUS[status]
  return <span className={`status status-${tone}`}>{word}</span>
}
