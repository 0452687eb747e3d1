import type { KeyScope } from '../../store/accounts/api-keys.js'

const ACCESS = { all: null, read: 'reading only', observe: 'captures only' }

/** A key in the audit trail: its name, and what it is for where that is not everything. */
export function keyWords(
  name: string,
  { access, agent, environment, principal }: KeyScope & { readonly principal?: 'none' | null },
): string {
  const person = principal === 'none' ? 'for no person' : null
  const limits = [ACCESS[access], agent && `agent ${agent}`, environment, person].filter((limit) => limit !== null)
  return limits.length === 0 ? name : `${name} (${limits.join(', ')})`
}
