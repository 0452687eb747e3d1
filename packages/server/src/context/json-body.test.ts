import { type JsonValue, LIMITS, ROUTES } from '@countersign/protocol'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { proves } from '../../../../test/support/proves.js'
import { ApiError } from '../base/api-error.js'
import { checked, faultsOf, REFUSED, shaped } from './json-body.js'

const many = <Item>(count: number, make: (at: number) => Item): Item[] =>
  Array.from({ length: count }, (_, at) => make(at))

/** What a body is refused with. */
function refusal(body: z.ZodType, value: unknown): { path: string; message: string }[] {
  try {
    checked(body, value, 'body')
  } catch (error) {
    if (error instanceof ApiError) return error.extras.errors as { path: string; message: string }[]
    throw error
  }
  throw new Error('the body was not refused')
}

const contract = { tool: 't', side_effect: 'read', evidence_class: 'unverifiable', commit_requirement: 'reported' }
const sessionWith = (contracts: JsonValue[], session: JsonValue = {}) => ({
  session_id: 's',
  holder_id: 'h',
  compiled_session: { plan_version: 1, contracts, session },
})
const COUNT = 3_000

proves('limit.fair.refused-bodies', () => {
  const createSession = ROUTES.createSession.body
  const wrong = many(LIMITS.entriesPerList, () => ({}))
  const rules = (list: JsonValue[]) => sessionWith([{ ...contract, argument_value_invariants: list }])
  const bodies: [string, z.ZodType, unknown][] = [
    ['contracts.0.tool', createSession, sessionWith(many(COUNT, () => ({})))],
    ['contracts.0.argument_value_invariants.0', createSession, rules(wrong)],
    ['contracts.0.preconditions.0', createSession, sessionWith([{ ...contract, preconditions: wrong }])],
    ['contracts.0.checkpoint', createSession, sessionWith([{ ...contract, checkpoint: wrong }])],
    ['session.pricing.0', createSession, sessionWith([], { pricing: { ...wrong } })],
    ['body.receipts', ROUTES.submitReceipts.body, { fence: 1, receipts: many(COUNT, () => ({})) }],
  ]
  for (const [where, body, value] of bodies) {
    const errors = refusal(body, value)
    expect(errors[0]?.path).toContain(where)
    expect(errors.length).toBeLessThanOrEqual(10)
  }
})

proves('limit.entries-per-list', 'too long a list is named', () => {
  const most = 256
  const { body } = ROUTES.createSession
  const forbidding = (count: number) => sessionWith([{ ...contract, forbids_after: many(count, (at) => `t${at}`) }])
  expect(shaped(body, forbidding(most))).not.toBe(REFUSED)
  const priced = (count: number) =>
    sessionWith([], { pricing: Object.fromEntries(many(count, (at) => [`p/${at}`, { input: 1, output: 1 }])) })
  expect(shaped(body, priced(most))).not.toBe(REFUSED)

  const tooMany: [string, unknown][] = [
    ['contracts.0.forbids_after', forbidding(most + 1)],
    ['session.pricing', priced(most + 1)],
  ]
  for (const [where, value] of tooMany) {
    const errors = refusal(body, value)
    expect(errors.map(({ path }) => path)).toEqual([`body.compiled_session.${where}`])
    expect(errors[0]?.message).toContain(String(most))
  }
})

proves('limit.fair.roles-counted-first', () => {
  let looked = 0
  const seen = <Value extends object>(value: Value): Value =>
    new Proxy(value, {
      get: (of, name) => {
        looked += 1
        return Reflect.get(of, name)
      },
    })
  const body = ROUTES.createSession.body
  const create = (definition: object) => ({
    session_id: 's',
    holder_id: 'h',
    workflow: { workflow_id: 'w', role: 'r0', definition },
  })
  const rolesOf = (count: number) => Object.fromEntries(many(count, (at) => [`r${at}`, seen({ root: true })]))
  const most = LIMITS.rolesPerWorkflow

  const roles = create({ roles: rolesOf(most + 1) })
  expect(shaped(body, roles)).toBe(REFUSED)
  const handoffs = create({ roles: { r0: {} }, handoffs: many(most ** 2 + 1, () => seen({ from: 'r0', to: 'r0' })) })
  expect(shaped(body, handoffs)).toBe(REFUSED)
  expect(looked).toBe(0)
  expect(shaped(body, create({ roles: rolesOf(most) }))).not.toBe(REFUSED)
  expect(looked).toBeGreaterThan(0)

  const named = create({ roles: Object.fromEntries(many(COUNT, (at) => [`r${at}`, {}])) })
  const message = `there are ${COUNT}; declare at most ${most}`
  expect(refusal(body, named)).toEqual([{ path: 'body.workflow.definition.roles', message }])
})

test('a fault is found by its path, however long what stands before it', () => {
  const tools = many(250, (at) => `t${at}`)
  const definition = { roles: { lead: { tools }, helper: { tools, root: 'yes' } } }
  const workflow = { workflow_id: 'w', role: 'lead', definition }
  const errors = refusal(ROUTES.createSession.body, { session_id: 's', holder_id: 'h', workflow })
  expect(errors.map(({ path }) => path)).toEqual(['body.workflow.definition.roles.helper.root'])
  const good = many(500, (at) => ({ ...contract, tool: `t${at}` }))
  const last = refusal(ROUTES.createSession.body, sessionWith([...good, { ...contract, gate: 'maybe' }]))
  expect(last.map(({ path }) => path)).toEqual(['body.compiled_session.contracts.500.gate'])
})

test('members that a shape does not have are named, some of them', () => {
  const surplus = Object.fromEntries(many(5_000, (at) => [`surplus_${at}`, 1]))
  const errors = refusal(ROUTES.addLabel.body, { label: 'a', ...surplus })
  expect(errors.map(({ path }) => path)).toEqual(['body'])
  expect(errors[0]?.message).toContain('"surplus_0"')
  expect(errors[0]?.message.length).toBeLessThan(600)
  const long = refusal(ROUTES.addLabel.body, { label: 'a', ['y'.repeat(500_000)]: 1 })
  expect(JSON.stringify(long).length).toBeLessThan(2_000)
})

const shape = z
  .strictObject({
    either: z.union([z.strictObject({ rows: z.array(z.number()) }), z.array(z.string())]),
    named: z.record(z.string().max(3), z.array(z.number())).optional(),
    from: z.number().default(0),
    to: z.number().optional(),
  })
  .refine(({ from, to }) => to === undefined || from <= to, { path: ['to'], error: 'ends before it begins' })
const wide = { rows: [1, 2] }

test.each<[string, unknown, string[]]>([
  ['what fits', { either: wide }, []],
  ['no option of a union', { either: { rows: ['x'] } }, ['either']],
  ['the name of an entry', { either: wide, named: { long_name: [1] } }, ['named.long_name']],
  ['a part of an entry', { either: wide, named: { a: [1, null] } }, ['named.a.1']],
  ['members that do not fit each other', { either: wide, from: 2, to: 1 }, ['to']],
  ['another kind of value', { either: wide, named: [1] }, ['named']],
  ['a member that is missing', { named: { a: [1] } }, ['either']],
])('%s', (_, value, paths) => {
  expect(faultsOf(shape, value).map(({ path }) => path.join('.'))).toEqual(paths)
})
