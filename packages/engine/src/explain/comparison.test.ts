import type { JsonValue, SourceRule } from '@countersign/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { componentsOf, inCycles } from '../contract/components.js'
import { canonicalJson } from '../json/canonical-json.js'
import { Comparison } from './comparison.js'
import { covering } from './diff-sources.js'
import { reachOf } from './reach.js'

/** Small values, so that many of them are equal. */
const json = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<JsonValue>(null, true, 0, -0, 1, '', '1', 'a', '[', '{'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', '1', '1:2,'), tie('value'), { maxKeys: 3 }),
  ),
})).value

describe('Comparison', () => {
  test('gives equal values, and only them, the same number', () => {
    fc.assert(
      fc.property(fc.array(json, { minLength: 2, maxLength: 8 }), (values) => {
        const comparison = new Comparison()
        for (const a of values)
          for (const b of values) expect(comparison.same(a, b)).toBe(canonicalJson(a) === canonicalJson(b))
      }),
    )
  })

  test('finds what a list has and another has not', () => {
    fc.assert(
      fc.property(fc.array(json), fc.array(json), (from, among) => {
        const comparison = new Comparison()
        const texts = among.map(canonicalJson)
        const missing = from.filter((item) => !texts.includes(canonicalJson(item)))
        expect(comparison.missing(from, among)).toEqual(missing)
        expect(comparison.countMissing(from, among)).toBe(new Set(missing.map(canonicalJson)).size)
      }),
    )
  })
})

test('the rule that covers a path is the longest that it begins with, step by step', () => {
  const path = fc.array(fc.constantFrom('.a', '.ab', '[*]', '[0]', '.b'), { maxLength: 4 })
  const written = path.map((steps) => `$${steps.join('')}`)
  fc.assert(
    fc.property(fc.array(written), fc.array(written), (ruled, asked) => {
      const rules = ruled.map((text): SourceRule => ({ path: text, from: ['user'], otherwise: 'block' }))
      const paths = [...new Set([...ruled, ...asked])].sort()
      const found = covering(rules, paths)
      for (const one of paths) {
        const above = ruled.filter((rule) => one.startsWith(`${rule}.`) || one.startsWith(`${rule}[`))
        const longest = above.toSorted((a, b) => b.length - a.length)[0]
        expect(found.get(one)?.path).toBe(longest)
      }
    }),
  )
})

const ways = fc
  .integer({ min: 0, max: 12 })
  .chain((size) =>
    fc.array(fc.array(fc.nat(Math.max(size - 1, 0)), { maxLength: 3 }), { minLength: size, maxLength: size }),
  )

const walkedFrom = (graph: readonly (readonly number[])[], start: number): Set<number> => {
  const seen = new Set(graph[start])
  for (const node of seen) for (const next of graph[node] ?? []) seen.add(next)
  return seen
}

test('what each node leads to is what walking from it finds', () => {
  fc.assert(
    fc.property(ways, (graph) => {
      const reach = reachOf(graph)
      graph.forEach((_, node) => {
        const walked = walkedFrom(graph, node)
        expect(graph.map((_, other) => reach[node]?.has(other))).toEqual(graph.map((_, other) => walked.has(other)))
      })
    }),
  )
})

test('nodes that lead to each other are one component, and it follows those that it leads to', () => {
  fc.assert(
    fc.property(ways, (graph) => {
      const components = componentsOf(graph)
      expect(components.flat().toSorted((a, b) => a - b)).toEqual(graph.map((_, node) => node))
      const placeOf = (node: number) => components.findIndex((component) => component.includes(node))
      graph.forEach((_, node) => {
        const walked = walkedFrom(graph, node)
        for (const other of walked) {
          expect(placeOf(other)).toBeLessThanOrEqual(placeOf(node))
          expect(placeOf(other) === placeOf(node)).toBe(other === node || walkedFrom(graph, other).has(node))
        }
      })
      const named = new Map(graph.map((next, node) => [String(node), next.map(String)]))
      const turning = graph.flatMap((_, node) => (walkedFrom(graph, node).has(node) ? [String(node)] : []))
      expect([...inCycles(named)].toSorted()).toEqual(turning.toSorted())
    }),
  )
})
