/**
 * Says where a policy nests too deeply, or null. Cedar's parser recurses, and once its stack overflows the module does
 * not answer again for the life of the process, so such a policy must never reach it.
 */
export function policyNestingProblem(policy: string): string | null {
  let level: Level = newLevel()
  const outer: Level[] = []
  for (const token of policy.match(TOKENS) ?? []) {
    if (OPENING.has(token)) {
      outer.push(level)
      level = newLevel()
    } else if (CLOSING.has(token)) level = outer.pop() ?? newLevel()
    else if (token === ';') {
      outer.length = 0
      level = newLevel()
    } else count(level, token)
    const total = sum(outer, level)
    if (total > MAX_WEIGHT) return 'the policy nests too deeply: split it into several statements'
  }
  return null
}

/**
 * Brackets, `if`, arithmetic, member chains, and the terms and clauses that Cedar joins into one tree each cost stack; at
 * most half of what was seen to overflow it, in a thread that has not run Cedar before and on a busy machine.
 */
const MAX_WEIGHT = 60
const BRACKET_WEIGHT = 1
const OTHER_WEIGHT = 0.5
const JOINED_WEIGHT = 1

/** Strings and comments first, so that what is inside them does not count. */
const TOKENS =
  /"(?:[^"\\]|\\[\s\S])*"?|\/\/[^\n]*|[()[\]{};,]|&&|\|\||[=!<>]=?|[.+*-]|\b(?:if|then|else|when|unless)\b/g
const OPENING: ReadonlySet<string> = new Set(['(', '[', '{'])
const CLOSING: ReadonlySet<string> = new Set([')', ']', '}'])
/** What ends a chain of members and of arithmetic. */
const ENDING: ReadonlySet<string> = new Set(['&&', '||', ',', '=', '==', '!=', '<', '<=', '>', '>='])

interface Level {
  chain: number
  ifs: number
  joined: number
}

const newLevel = (): Level => ({ chain: 0, ifs: 0, joined: 0 })

const JOINING: ReadonlySet<string> = new Set(['&&', '||', 'when', 'unless'])

function count(level: Level, token: string): void {
  if (JOINING.has(token)) level.joined++
  else if (token === ',') level.joined = 0
  if (token === 'if') level.ifs++
  else if (token === '.' || token === '+' || token === '-' || token === '*' || token === '!') level.chain++
  else if (ENDING.has(token)) level.chain = 0
}

function sum(outer: readonly Level[], level: Level): number {
  let total = outer.length * BRACKET_WEIGHT
  for (const { chain, ifs, joined } of [...outer, level]) total += (chain + ifs) * OTHER_WEIGHT + joined * JOINED_WEIGHT
  return total
}
