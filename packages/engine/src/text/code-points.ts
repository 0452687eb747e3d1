import { spendOnJudging } from './judging-budget.js'

/** The number of code points in a text: a surrogate pair is one. */
export function codePoints(text: string): number {
  spendOnJudging(text.length >> CHARACTERS_PER_STEP)
  let count = text.length
  for (let at = 1; at < text.length; at++) {
    const isLow = (text.charCodeAt(at) & 0xfc00) === 0xdc00
    if (isLow && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800) count--
  }
  return count
}

/** As a power of two. */
const CHARACTERS_PER_STEP = 4
