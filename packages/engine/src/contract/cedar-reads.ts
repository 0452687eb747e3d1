import { policyTokens } from './cedar-text.js'

/**
 * Which arguments a policy can read. If it only ever reads arguments by name, it can read none whose name is no word or
 * string of it, and a long text that it never looks at need not be built in Cedar.
 */
export function readArguments(policy: string): (name: string) => boolean {
  // An escape can write a name in another way.
  if (policy.includes('\\')) return () => true
  const tokens = policyTokens(policy)
  const isNamed = tokens.every((token, at) => token !== 'context' || namesAfter(tokens.slice(at + 1, at + 5)))
  if (!isNamed) return () => true
  const names = new Set(tokens.map((token) => (token.startsWith('"') ? token.slice(1, -1) : token)))
  return (name) => names.has(name)
}

/** `.arguments.amount`, `.arguments["amount"]`, `.arguments has amount`, or `has arguments` and the end of the condition. */
function namesAfter([first, second, third = '', fourth = '']: readonly string[]): boolean {
  if (second !== 'arguments') return false
  if (first === 'has') return CONDITION_ENDS.has(third)
  if (first !== '.') return false
  if (third === '.') return /^[A-Za-z_]/.test(fourth)
  if (third === '[') return fourth.startsWith('"')
  return third === 'has' && /^["A-Za-z_]/.test(fourth)
}

const CONDITION_ENDS: ReadonlySet<string> = new Set([')', '&&', '||', '}'])
