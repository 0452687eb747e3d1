import { type JsonObject, type JsonValue, LIMITS } from '@countersign/protocol'
import { collidingNumbers } from './colliding-numbers.js'
import type { Genes } from './request.js'

export const TOOL = 'act'
export const FIXED = { side_effect: 'read', gate: 'allow' } as const

export const many = <Item>(width: number, make: (at: number) => Item): Item[] =>
  Array.from({ length: Math.max(1, width) }, (_, at) => make(at))

/** Values that are small in bytes and large in nodes, characters or depth, up to what one call may carry. */
export const VALUES: readonly ((size: number) => JsonValue)[] = [
  (size) => Array.from({ length: size }, () => 1),
  (size) => Array.from({ length: size }, (_, index) => ({ a: index % 7 })),
  (size) => Array.from({ length: size }, () => []),
  (size) => Object.fromEntries(Array.from({ length: size }, (_, index) => [`k${index}`, 0])),
  (size) => treeOf(size),
  (size) => 'a'.repeat(size * 4),
  (size) => 'é\u0301'.repeat(size),
  (size) => Array.from({ length: size }, (_, index) => `a${index % 9}`),
  (size) => Array.from({ length: size }, (_, index) => ({ a: [{ a: index % 3, b: 'x' }] })),
  // Numbers with many digits, and those that only hundreds of digits write out.
  (size) => Array.from({ length: size }, (_, index) => 0.1234567890123 + index / 3),
  (size) => Array.from({ length: size }, (_, index) => (index % 2 === 0 ? 1.2345678e-300 : 9_007_199_254_740_991)),
  // Names that a path to each item must repeat: one that is long, many that are escaped, and places deep down.
  (size) => ({ ['"é'.repeat(Math.ceil(size / 4))]: Array.from({ length: size }, () => 1) }),
  (size) =>
    nested(
      Array.from({ length: size }, () => 1),
      (inner, at) => ({ [`"key ${at}" `.repeat(20)]: inner }),
    ),
  (size) =>
    nested(
      Array.from({ length: size }, () => 1),
      (inner) => [inner],
    ),
  (size) => Object.fromEntries(Array.from({ length: size }, (_, index) => [`${(index * 7_919) % 1_000_003}`, 0])),
  // Texts with many words, many digits, many marks; texts that differ in their last character.
  (size) => 'a.1-b@c.de '.repeat(size),
  (size) => '1234567890'.repeat(size),
  (size) => '"\\😀'.repeat(size),
  (size) => Array.from({ length: 200 }, (_, index) => `${'x'.repeat(size)}${index}`),
  (size) => Array.from({ length: size }, (_, index) => `user${index}@example.org`),
  (size) => Array.from({ length: size }, (_, index) => `https://a.b/c?d=${index}#e%20f`),
  // Names and texts that nearly repeat themselves.
  (size) => ({ [`${'a'.repeat(size)}b${'a'.repeat(size)}`]: 1, v: `${'a'.repeat(size)}b` }),
  // Numbers that collide in a set, and the one that stands first in it.
  (size) => collidingNumbers(Math.min(size, 8_000)),
  (size) => Array.from({ length: size }, () => 7),
]

/** As deep as arguments may be, nearly. */
function nested(inmost: JsonValue, around: (inner: JsonValue, at: number) => JsonValue): JsonValue {
  let value = inmost
  for (let at = 0; at < 50; at++) value = around(value, at)
  return value
}

/** Every place is called `a` or is an item, so that one path finds as many as possible. */
function treeOf(size: number): JsonValue {
  let nodes: JsonValue[] = Array.from({ length: Math.max(1, size) }, () => 0)
  while (nodes.length > 1) {
    const parents: JsonValue[] = []
    for (let at = 0; at < nodes.length; at += 2) parents.push({ a: nodes[at] ?? 0, b: nodes[at + 1] ?? 0 })
    nodes = parents
  }
  return nodes[0] ?? null
}

export const oneOf = <Item>(items: readonly Item[], gene: number | undefined): Item => {
  const item = items[(gene ?? 0) % items.length]
  if (item === undefined) throw new Error('an empty list')
  return item
}

export const gene = (genes: Genes, name: string): number => genes[name] ?? 0

/** As large as asked for, and within what one call may carry. */
function argumentsOf(genes: Genes): JsonObject {
  const value = oneOf(VALUES, genes.value)
  let size = Math.max(1, gene(genes, 'size'))
  for (;;) {
    const args = { v: value(size), w: 1 }
    const bytes = Buffer.byteLength(JSON.stringify(args))
    if (bytes <= LIMITS.argumentBytesPerCall) return args
    size = Math.floor((size * LIMITS.argumentBytesPerCall * 0.98) / bytes)
  }
}

export const callsOf = (genes: Genes) => {
  const args = argumentsOf(genes)
  return Array.from({ length: Math.max(1, Math.min(gene(genes, 'calls'), 24)) }, () => ({ name: TOOL, args }))
}
