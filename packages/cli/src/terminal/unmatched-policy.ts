import { UsageError } from './command.js'

/** The flag that says what happens to a call of a tool without a contract, named as the option of the SDK. */
export const UNMATCHED_USAGE = '[--unmatched-policy block|allow]'

/** `--unmatched` is the older name, under which `validate` calls a block `deny`. */
export const UNMATCHED_FLAGS = { 'unmatched-policy': { type: 'string' }, unmatched: { type: 'string' } } as const

interface Given {
  readonly 'unmatched-policy'?: string | undefined
  readonly unmatched?: string | undefined
}

export function unmatchedPolicyOf(given: Given, olderBlock: 'block' | 'deny' = 'block'): 'block' | 'allow' {
  const policy = given['unmatched-policy'] ?? 'block'
  if (policy !== 'block' && policy !== 'allow') throw new UsageError('--unmatched-policy must be block or allow')
  if (given.unmatched === undefined) return policy
  if (given['unmatched-policy'] !== undefined)
    throw new UsageError('--unmatched is the older name of --unmatched-policy')
  if (given.unmatched !== olderBlock && given.unmatched !== 'allow') {
    throw new UsageError(`--unmatched must be ${olderBlock} or allow; its name is now --unmatched-policy`)
  }
  return given.unmatched === 'allow' ? 'allow' : 'block'
}
