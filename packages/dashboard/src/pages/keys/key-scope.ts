import type { KeyView } from '@countersign/protocol'

/** What a key may be used for. */
export const ACCESS_OPTIONS = [
  { value: 'all', label: 'Everything', words: 'Govern sessions, read, submit plans, send captures.' },
  { value: 'read', label: 'Reading', words: 'Read sessions, ledgers, plans and runs; change nothing.' },
  { value: 'observe', label: 'Captures', words: 'Send captures, and look up the approved plan.' },
] as const satisfies readonly { value: KeyView['access']; label: string; words: string }[]

/** What a key is limited to, in words; null where it may do everything. */
export function keyScope({
  access,
  agent,
  environment,
  principal,
}: Pick<KeyView, 'access' | 'agent' | 'environment' | 'principal'>): string | null {
  const limits = [
    access === 'all' ? null : access === 'read' ? 'reading only' : 'captures only',
    agent === null ? null : `agent ${agent}`,
    environment,
    principal === 'none' ? 'for no person' : null,
  ].filter((limit) => limit !== null)
  return limits.length === 0 ? null : limits.join(', ')
}

export const isExpired = ({ expires_at }: KeyView, now: number): boolean =>
  expires_at !== null && Date.parse(expires_at) <= now
