import type { ReactNode } from 'react'

export type Tone = 'neutral' | 'allow' | 'block' | 'warn' | 'doubt' | 'accent'

export const Badge = ({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) => (
  <span className={`badge badge-${tone}`}>{children}</span>
)

const STATUS = {
  ACTIVE: { tone: 'allow', word: 'Active' },
  RECOVERING: { tone: 'doubt', word: 'Recovering' },
  COMPROMISED: { tone: 'warn', word: 'Compromised' },
  KILLED: { tone: 'block', word: 'Killed' },
} as const

export const StatusBadge = ({ status }: { status: keyof typeof STATUS }) => (
  <span className={`status status-${STATUS[status].tone}`}>{STATUS[status].word}</span>
)
