import { expect, test } from 'vitest'
import { rolesByDepth } from './roles-by-depth.js'

const edge = (from: string, to: string) => ({ from, to })

test('a role is right of every role that hands over to it', () => {
  const edges = [edge('triage', 'billing'), edge('triage', 'review'), edge('billing', 'review')]
  expect(rolesByDepth(['review', 'billing', 'triage'], edges)).toEqual([['triage'], ['billing'], ['review']])
})

test('circles and lone roles end, and every role appears once', () => {
  const edges = [edge('a', 'b'), edge('b', 'a')]
  expect(rolesByDepth(['a', 'b', 'alone'], edges).flat().sort()).toEqual(['a', 'alone', 'b'])
  expect(rolesByDepth(['a', 'b'], edges).flat().sort()).toEqual(['a', 'b'])
})
