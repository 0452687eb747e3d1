import { expect, test } from 'vitest'
import { rootRoles, termsOfOffer } from '../../contract/workflow-roles.js'
import { compileWorkflow } from './compile-workflow.js'

const file = 'workflow.yaml'
const compile = (text: string) => compileWorkflow({ file, text })

const FAULTS: readonly [string, string, number | null, string, string][] = [
  ['no role', 'roles: {}\n', 1, 'the workflow has no roles', 'declare at least one role'],
  [
    'an unknown role',
    'roles: { payer: {} }\nhandoffs:\n  - { from: payr, to: payer }\n',
    3,
    'there is no role "payr"',
    'did you mean "payer"?',
  ],
  [
    'a handoff named twice',
    'roles: { a: {}, b: {} }\nhandoffs:\n  - { from: a, to: b }\n  - { from: a, to: b }\n',
    4,
    'the handoff from "a" to "b" is declared twice',
    'remove one of them',
  ],
  [
    'a tool that the role lacks',
    'roles:\n  a: {}\n  b: { tools: [pay] }\nhandoffs:\n  - { from: a, to: b, tools: [pya] }\n',
    5,
    'the role "b" does not have the tool "pya"',
    'did you mean "pay"?',
  ],
  [
    'no way in',
    'roles: { a: {}, b: {} }\nhandoffs:\n  - { from: a, to: b }\n  - { from: b, to: a }\n',
    1,
    'every role is the target of a handoff, so no session can start',
    'mark the starting role with `root: true`',
  ],
]
test.each(FAULTS)('%s is refused, with its line and a way to fix it', (_name, text, line, message, fix) => {
  const result = compile(text)
  expect(result.ok ? [] : result.errors).toMatchObject([{ file, line, message, fix }])
})

test('an unknown key is refused', () => {
  const result = compile('roles: { a: {} }\nhandofs: []\n')
  expect(result.ok ? '' : result.errors[0]?.fix).toContain('handoffs')
})

test('a role that nobody can take is noted', () => {
  const result = compile('roles: { a: { root: true }, b: {}, c: {} }\nhandoffs: [{ from: a, to: b }]\n')
  expect(result.ok && result.warnings).toMatchObject([{ path: 'roles.c', line: 1 }])
})

test('several roles may be roots: those marked, else those that no handoff leads to', () => {
  const handoffs = [{ from: 'a', to: 'c' }]
  expect([...rootRoles({ roles: { a: {}, b: {}, c: {} }, handoffs })]).toEqual(['a', 'b'])
  expect([...rootRoles({ roles: { a: {}, b: { root: true }, c: {} }, handoffs })]).toEqual(['b'])
})

const definition = {
  roles: { a: {}, b: { tools: ['x', 'y', 'z'] }, c: {}, __proto__x: {} },
  handoffs: [
    { from: 'a', to: 'b', tools: ['x', 'y'] },
    { from: 'a', to: 'c' },
    { from: 'b', to: 'c' },
  ],
}
const terms = (fromRole: string, toRole: string, tools?: string[], bound: string[] | null = null) =>
  termsOfOffer({ definition, fromRole, toRole, tools, bound })

test('an offer gives what the role, the handoff and the giver let through, and no more', () => {
  expect(terms('a', 'b')).toEqual({ ok: true, tools: ['x', 'y'], bound: null })
  expect(terms('a', 'b', ['y'])).toEqual({ ok: true, tools: ['y'], bound: ['y'] })
  expect(terms('a', 'c')).toEqual({ ok: true, tools: null, bound: null })
  expect(terms('b', 'c', undefined, ['y'])).toEqual({ ok: true, tools: ['y'], bound: ['y'] })
  expect(terms('a', 'b', [])).toEqual({ ok: true, tools: [], bound: [] })
  for (const refused of [
    terms('a', 'b', ['z']),
    terms('b', 'c', ['x'], ['y']),
    terms('b', 'a'),
    terms('a', 'constructor'),
  ]) {
    expect(refused.ok).toBe(false)
  }
})
