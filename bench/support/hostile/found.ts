import type { Genes } from '../../../test/support/hostile/request.js'

interface Costly {
  readonly family: string
  readonly genes: Genes
}

/** Requests that people thought of: many paths, many objects to compare with, many alternatives, a long chain of terms. */
export const KNOWN: readonly Costly[] = [
  { family: 'rules', genes: { place: 0, path: 1, rule: 0, value: 1, count: 300, size: 25_000, operand: 1, calls: 1 } },
  {
    family: 'rules',
    genes: { place: 0, path: 3, rule: 4, value: 1, count: 1, size: 12_000, operand: 8_000, calls: 1 },
  },
  { family: 'schemas', genes: { schema: 0, value: 0, width: 401, size: 60_000, calls: 1 } },
  { family: 'policies', genes: { policy: 0, value: 0, terms: 500, size: 1, calls: 1 } },
  // Found by the search: carriage returns in a string of a policy, and a class of Unicode properties.
  {
    family: 'texts of policies',
    genes: { around: 4, piece: 3, piece2: 1, each: 2, length: 50_254, value: 0, size: 1, calls: 1 },
  },
  {
    family: 'texts of regular expressions',
    genes: { around: 4, piece: 30, piece2: 2, each: 9, length: 4_096, value: 20, size: 3, calls: 1 },
  },
]

/**
 * Requests that the search found (seed 7, half an hour) before judging was bounded, each with how long it stalled a
 * process then, in milliseconds of processor time. Two did not end within 90 seconds; one broke Cedar. The
 * last four are from two hours of search after all of that was bounded: 24 calls with 4 MB of arguments, and thousands
 * of keys that were listed for each of 197 conditions.
 */
export const FOUND: readonly (Costly & { readonly stalledMs: number })[] = [
  {
    family: 'rules',
    genes: { place: 4, path: 10, rule: 6, value: 0, count: 236, size: 24040, operand: 13, calls: 16 },
    stalledMs: 90000,
  },
  { family: 'schemas', genes: { schema: 13, value: 7, width: 383, size: 6320, calls: 13 }, stalledMs: 90000 },
  {
    family: 'rules',
    genes: { place: 1, path: 9, rule: 1, value: 1, count: 137, size: 2277, operand: 139, calls: 11 },
    stalledMs: 10062,
  },
  { family: 'schemas', genes: { schema: 7, value: 8, width: 3004, size: 70, calls: 24 }, stalledMs: 10010 },
  {
    family: 'sources',
    genes: { rules: 356, from: 31, known: 10, leaves: 75, tokens: 10, size: 3401, value: 8, calls: 2 },
    stalledMs: 5891,
  },
  { family: 'schemas', genes: { schema: 3, value: 2, width: 4000, size: 8022, calls: 5 }, stalledMs: 5866 },
  { family: 'schemas', genes: { schema: 5, value: 8, width: 4000, size: 16, calls: 9 }, stalledMs: 5033 },
  { family: 'schemas', genes: { schema: 5, value: 8, width: 4000, size: 41, calls: 14 }, stalledMs: 5007 },
  { family: 'schemas', genes: { schema: 5, value: 3, width: 1233, size: 1627, calls: 6 }, stalledMs: 3886 },
  { family: 'schemas', genes: { schema: 5, value: 1, width: 3107, size: 28860, calls: 20 }, stalledMs: 3579 },
  {
    family: 'sources',
    genes: { rules: 29, from: 233, known: 21, leaves: 3, tokens: 21, size: 5255, value: 8, calls: 24 },
    stalledMs: 3105,
  },
  {
    family: 'rules',
    genes: { place: 2, path: 4, rule: 3, value: 3, count: 47, size: 2783, operand: 1186, calls: 24 },
    stalledMs: 2949,
  },
  {
    family: 'rules',
    genes: { place: 3, path: 11, rule: 3, value: 2, count: 62, size: 25704, operand: 644, calls: 18 },
    stalledMs: 2861,
  },
  {
    family: 'rules',
    genes: { place: 3, path: 5, rule: 1, value: 1, count: 545, size: 77, operand: 3, calls: 16 },
    stalledMs: 2828,
  },
  {
    family: 'sources',
    genes: { rules: 18, from: 19, known: 2, leaves: 1, tokens: 3, size: 23087, value: 3, calls: 17 },
    stalledMs: 2787,
  },
  {
    family: 'rules',
    genes: { place: 2, path: 2, rule: 5, value: 8, count: 462, size: 16, operand: 154, calls: 20 },
    stalledMs: 2410,
  },
  { family: 'schemas', genes: { schema: 6, value: 4, width: 1540, size: 7, calls: 7 }, stalledMs: 1007 },
  { family: 'plans', genes: { piece: 7, contracts: 199 }, stalledMs: 698 },
  {
    family: 'rules',
    genes: { place: 1, path: 7, rule: 13, value: 2, count: 414, size: 599, operand: 4383, calls: 4 },
    stalledMs: 672,
  },
  { family: 'policies', genes: { policy: 4, value: 7, terms: 168, size: 15, calls: 14 }, stalledMs: 578 },
  { family: 'plans', genes: { piece: 7, contracts: 26 }, stalledMs: 246 },
  { family: 'plans', genes: { piece: 7, contracts: 33 }, stalledMs: 230 },
  {
    family: 'rules',
    genes: { place: 2, path: 7, rule: 7, value: 3, count: 41, size: 82, operand: 5, calls: 11 },
    stalledMs: 177,
  },
  { family: 'policies', genes: { policy: 3, value: 4, terms: 34, size: 68, calls: 5 }, stalledMs: 4 },
  {
    family: 'rules',
    genes: { place: 3, path: 1, rule: 4, value: 8, count: 105, size: 37979, operand: 537, calls: 24 },
    stalledMs: 521,
  },
  { family: 'policies', genes: { policy: 5, value: 8, terms: 10, size: 64000, calls: 24 }, stalledMs: 594 },
  {
    family: 'sources',
    genes: { rules: 12, from: 1, known: 35, leaves: 243, tokens: 8, size: 41870, value: 8, calls: 24 },
    stalledMs: 527,
  },
  {
    family: 'rules',
    genes: { place: 2, path: 3, rule: 13, value: 3, count: 197, size: 48_719, operand: 7_077, calls: 14 },
    stalledMs: 480,
  },
  {
    family: 'rules',
    genes: { place: 5, path: 9, rule: 8, value: 16, count: 2_048, size: 2, operand: 8_000, calls: 24 },
    stalledMs: 646,
  },
]
