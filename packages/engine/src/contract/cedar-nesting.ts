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

/** Brackets, `if`, arithmetic and member chains each cost stack; half of what was seen to overflow it. */
const MAX_WEIGHT = 60
const BRACKET_WEIGHT = 1
const OTHER_WEIGHT = 0.5

/** Strings and comments first, so that what is inside them does not count. */
const TOKENS = /"(?:[^"\\]|\\[\s\S])*"?|\/\/[^\n]*|[()[\]{};,]|&&|\|\||[=!<>]=?|[.+*-]|\bif\b|\b(?:then|else)\b/g
const OPENING: ReadonlySet<string> = new Set(['(', '[', '{'])
const CLOSING: ReadonlySet<string> = new Set([')', ']', '}'])
/** What ends a chain of members and of arithmetic. */
const ENDING: ReadonlySet<string> = new Set(['&&', '||', ',', '=', '==', '!=', '<', '<=', '>', '>='])

interface Level {
  chain: number
  ifs: number
}

const newLevel = (): Level => ({ chain: 0, ifs: 0 })

function count(level: Level, token: string): void {
  if (token === 'if') level.ifs++
  else if (token === '.' || token === '+' || token === '-' || token === '*' || token === '!') level.chain++
  else if (ENDING.has(token)) level.chain = 0
}

function sum(outer: readonly Level[], level: Level): number {
  let total = outer.length * BRACKET_WEIGHT
  for (const { chain, ifs } of [...outer, level]) total += (chain + ifs) * OTHER_WEIGHT
  return total
}
