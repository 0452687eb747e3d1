import { isDeepStrictEqual } from 'node:util'
import { readOutputs } from '@countersign/engine'
import type { ArgumentRule, Condition, Contract, JsonObject, JsonValue } from '@countersign/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Case, compareTurn, isTurn, loadCases, type TurnStep } from '../support/cases/cases.js'
import { planOf, runCaseOnEngine } from '../support/cases/run-case.js'
import { rounds } from '../support/data/rounds.js'
import { proves } from '../support/proves.js'

const cases = loadCases('engine').filter(({ file }) => file === 'conditions.json')

/** Runs the cases whose names begin like this. */
function holds(...beginnings: readonly string[]): void {
  for (const beginning of beginnings) {
    const found = cases.filter(({ name }) => name.startsWith(beginning))
    expect(found.length, beginning).toBeGreaterThan(0)
    for (const item of found) {
      const { turns } = runCaseOnEngine(item)
      const compared = item.steps
        .filter(isTurn)
        .map((step, at) => compareTurn(step, turns[at] as (typeof turns)[number]))
      for (const { expected, seen } of compared) expect(seen, item.name).toEqual(expected)
    }
  }
}

proves('condition.applies', 'a rule applies unless one of its conditions surely fails', () => {
  holds('1 ', '2 ', '5 ', '6 ', '7 ', 'a bound number', 'hours apply', 'an envelope', 'a source rule')
})

proves('condition.unknown', 'what is missing, of another type or not known yet does not get around a rule', () => {
  holds('3 ', '4 ', '8 ', '18 ', '30 ', '22 without')
})

proves('condition.labels', 'labels are conditions, and are added under conditions', () => {
  holds('17 ', '19 ', '20 ', '21 ')
})

proves('condition.narrowing', 'a tool is hidden only if all conditions surely hold', () => holds('1 ', '22 '))

proves('condition.counts', 'what does not apply counts nothing and demands nothing', () =>
  holds('23 ', '24 ', 'what does not'),
)

proves('condition.message', 'the owner of a rule has the last word, behind the fact', () => {
  holds('1 ', '17 ', '21 ', 'the message of a contract')
})

proves('condition.old-checkpoints', 'a missing argument still does not trigger a checkpoint', () => holds('29 '))

proves('condition.latest', 'the newest run decides', () => {
  holds('9 ', '10 ', '11 ', '12 ', '13 ', '14 ', '15 ', '16 ', 'the newest run')
})

proves('condition.each', 'rows of a result bind a value for each key', () => holds('25 ', '26 '))

proves('condition.each', 'of a result only the keys and values of its rows are reported', () => {
  const [item] = cases.filter(({ name }) => name.startsWith('25 '))
  const plan = planOf(item as Case)
  const result = {
    vendors: [{ id: 'V-1', iban: 'DE1', secret: 'x' }, { id: 'V-2', secret: 'y' }, { iban: 'DE3' }],
    more: 1,
  }
  const reported = readOutputs(plan.contracts.get('search_vendors')?.outputPaths ?? [], result)
  expect(Object.values(reported)).toEqual([[['V-1', 'DE1'], ['V-2']]])
})

proves('condition.refused-call', 'a call that a person refused is not asked about again', () => holds('27 ', '28 '))

const SUBJECTS: readonly Condition[] = [
  { path: '$.env', equals: 'production' },
  { path: '$.env', not_equals: 'staging' },
  { path: '$.amount', gt: 10 },
  { path: '$.to[*]', starts_with: 'a' },
  { path: '$.amount', exists: true },
  { label: 'seen' },
  { label: 'seen', exists: false },
  { bound: 'risk', gt: 3 },
  { bound: 'risk', exists: true },
  { principal: '$.role', equals: 'owner' },
]
const when = fc.array(fc.constantFrom(...SUBJECTS), { minLength: 1, maxLength: 3 })
const args = fc.record(
  {
    env: fc.constantFrom<JsonValue>('production', 'staging', 3),
    amount: fc.constantFrom<JsonValue>(5, 50, '50', -1),
    to: fc.constantFrom<JsonValue>(['ann'], ['bob', 'ann'], 'ann'),
  },
  { requiredKeys: [] },
)
const call = fc.record({ tool: fc.constantFrom('look', 'pay', 'send'), args })
const turns = fc.array(fc.array(call, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 5 })
const PRINCIPALS = [undefined, { role: 'owner' }, { role: 'clerk' }, 'ann'] as const

/** Rules that restrict, each of which may have conditions. */
const RULES = {
  preconditions: [{ requires_prior_tool: 'look' }],
  argument_value_invariants: [{ path: '$.amount', lte: 20 }],
  refs: [{ path: '$.env', ref: 'place' }],
  aggregates: [{ name: 'sum', path: '$.amount', lte: 40 }],
  envelopes: [{ name: 'bound', path: '$.amount', direction: 'at_most' }],
  hours: [{ time_zone: 'UTC', allow: [{ from: '08:00', to: '09:00' }] }],
  checkpoint: [{ reason: 'ask', when: [] }],
} as const
type RuleKey = keyof typeof RULES
const ruleKey = fc.constantFrom(...(Object.keys(RULES) as RuleKey[]))

const LOOK: Contract = {
  tool: 'look',
  side_effect: 'read',
  binds: [
    { name: 'risk', path: '$.risk' },
    { name: 'place', path: '$.place' },
  ],
  establishes: [{ name: 'bound', path: '$.risk' }],
  labels: { adds: ['seen'] },
}

const restricted = (tool: string, key: RuleKey, conditions: readonly Condition[] | undefined): Contract => ({
  tool,
  side_effect: 'financial',
  gate: 'allow',
  [key]: RULES[key].map((rule) => ({ ...rule, ...(conditions !== undefined && { when: conditions }) })),
})

function caseOf(contracts: readonly Contract[], steps: readonly TurnStep[], principal: JsonValue | undefined): Case {
  const about = { file: 'conditions', name: 'a history', faces: ['engine'] as const, session: undefined, labels: [] }
  return { ...about, gate: 'strip_blocked', unmatchedPolicy: 'block', contracts, principal, steps }
}

type Turns = readonly (readonly { readonly tool: string; readonly args: JsonObject }[])[]

const stepsOf = (list: Turns): TurnStep[] =>
  list.map((calls) => ({
    calls: calls.map(({ tool, args: given }) => ({ tool, args: given })),
    expect: [],
    // biome-ignore lint/suspicious/noThenProperty: the cases' word for what becomes of the calls; nobody awaits a step
    then: calls.map(() => ({
      evidence: 'executed' as const,
      result: { risk: 4, place: 'production' },
      answer: 'approve' as const,
    })),
  }))

const numRuns = rounds(100, 20_000)

/** Contradictions are refused, so that there is nothing to compare. */
function runOrNull(contracts: readonly Contract[], list: Turns, principal: JsonValue | undefined) {
  try {
    return runCaseOnEngine(caseOf(contracts, stepsOf(list), principal))
  } catch (error) {
    if (/never hold together/.test(String(error))) return null
    throw error
  }
}

proves('condition.never-blocks-more', 'a condition on a rule blocks no first call that was allowed', () => {
  fc.assert(
    fc.property(
      ruleKey,
      when,
      call,
      turns,
      fc.constantFrom(...PRINCIPALS),
      (key, conditions, last, before, principal) => {
        // What differs before would differ in what has been used: only reads come first.
        const reads = before
          .map((calls) => calls.filter(({ tool }) => tool === 'look'))
          .filter(({ length }) => length > 0)
        const list = [...reads, [last]] as Turns
        const always = runOrNull([LOOK, restricted('pay', key, undefined), { tool: 'send' }], list, principal)
        const some = runOrNull([LOOK, restricted('pay', key, conditions), { tool: 'send' }], list, principal)
        if (always === null || some === null) return
        const decided = (run: typeof always) => run.turns.at(-1)?.decisions[0]
        if (decided(always)?.decision === 'allow') expect(decided(some)?.decision).toBe('allow')
        if (decided(always)?.checkpoint_required === false) expect(decided(some)?.checkpoint_required).toBe(false)
      },
    ),
    { numRuns },
  )
})

proves('condition.narrowing', 'narrowing never hides what judging would allow', () => {
  fc.assert(
    fc.property(ruleKey, when, turns, fc.constantFrom(...PRINCIPALS), (key, conditions, list, principal) => {
      const run = runOrNull([LOOK, restricted('pay', key, conditions), { tool: 'send' }], list as Turns, principal)
      run?.turns.forEach(({ removed, decisions }, at) => {
        decisions.forEach((decision, index) => {
          const tool = list[at]?.[index]?.tool ?? ''
          if (removed[tool] === undefined) return
          // Nothing else blocks it: only that it was not offered.
          const details = decision.reasons.map(({ detail }) => detail)
          expect(details, tool).not.toEqual(['not_offered'])
        })
      })
    }),
    { numRuns },
  )
})

/** A condition, and the values that can be compared with its operand: only of those it may say that the rule is none of theirs. */
const COMPARED: readonly [Condition, (found: JsonValue) => boolean][] = [
  [{ path: '$.risk', equals: 'high' }, isText],
  [{ path: '$.risk', one_of: ['high', 3] }, (found) => isText(found) || typeof found === 'number'],
  [{ path: '$.risk', equals: true }, (found) => typeof found === 'boolean'],
  [{ path: '$.risk', gt: 3 }, (found) => typeof found === 'number'],
  [{ path: '$.risk', lte: 1_000_000 }, (found) => typeof found === 'number'],
  [{ path: '$.risk', regex: '^high' }, isText],
  [{ path: '$.risk', not_regex: '^low' }, isText],
  [{ path: '$.risk', starts_with: 'high' }, isText],
  [{ path: '$.risk', contains: 'high' }, (found) => isText(found) || (Array.isArray(found) && found.every(isText))],
  [{ path: '$.risk', length_gte: 100 }, (found) => isText(found) || Array.isArray(found)],
]
const NEVER_FAIL: readonly Condition[] = [
  { path: '$.risk', not_equals: 'low' },
  { path: '$.risk', not_one_of: ['low', 0] },
]

function isText(found: JsonValue): boolean {
  return typeof found === 'string'
}

const anything = fc.oneof(
  fc.constantFrom<JsonValue>(
    null,
    0,
    -0,
    1e-300,
    1e300,
    'NaN',
    '1e400',
    '',
    'high ',
    [],
    {},
    [['high']],
    [{ high: 1 }],
  ),
  fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)) as JsonValue),
  fc.constantFrom('__proto__', 'constructor', 'toString').map((name) => JSON.parse(`{"${name}":{"risk":"low"}}`)),
)

/** Whether the rule that these conditions stand on is applied to a call, which breaks it. */
function isApplied(condition: Condition, result: JsonValue, given: JsonObject): boolean {
  const rule = { path: '$.amount', lte: 20, when: [condition] }
  const pay: Contract = { tool: 'pay', side_effect: 'financial', gate: 'allow', argument_value_invariants: [rule] }
  const look: Contract = { tool: 'look', side_effect: 'read', binds: [{ name: 'risk', path: '$.risk' }] }
  const [reading, paying] = stepsOf([[{ tool: 'look', args: {} }], [{ tool: 'pay', args: given }]]) as TurnStep[]
  // biome-ignore lint/suspicious/noThenProperty: the cases' word for what becomes of the calls
  const read = { ...(reading as TurnStep), then: [{ evidence: 'executed' as const, result }] }
  const { turns } = runCaseOnEngine(caseOf([look, pay], [read, paying as TurnStep], undefined))
  return turns.at(-1)?.decisions[0]?.decision === 'block'
}

proves('condition.unknown', 'whatever a model sends, a rule is not applied only where the value was compared', () => {
  fc.assert(
    fc.property(fc.constantFrom(...COMPARED), anything, ([condition, isCompared], risk) => {
      if (!isCompared(risk)) expect(isApplied(condition, {}, { amount: 50, risk }), JSON.stringify(risk)).toBe(true)
    }),
    { numRuns },
  )
  for (const condition of [...COMPARED.map(([one]) => one), ...NEVER_FAIL]) {
    expect(isApplied(condition, {}, { amount: 50 })).toBe(true)
    expect(isApplied(condition, {}, { amount: 50, Risk: 'low', 'risk ': 'low' })).toBe(true)
  }
  for (const risk of ['Low', 'lоw', ' low', ['low'], null, 1, -1, '0']) {
    for (const condition of NEVER_FAIL) expect(isApplied(condition, {}, { amount: 50, risk })).toBe(true)
  }
  const [, , , [gt]] = COMPARED as [never, never, never, (typeof COMPARED)[number]]
  expect(isApplied(gt, {}, { amount: 50, risk: 3 })).toBe(false)
})

proves('condition.unknown', 'whatever a tool answers, a bound value gets around a rule only by comparison', () => {
  const bound = COMPARED.filter(([one]) => Object.keys(one).some((key) => /^(equals|one_of|gt|lte)$/.test(key)))
  fc.assert(
    fc.property(fc.constantFrom(...bound), anything, ([{ path: _, ...tests }, isCompared], risk) => {
      if (isCompared(risk)) return
      expect(isApplied({ bound: 'risk', ...tests }, { risk }, { amount: 50 }), JSON.stringify(risk)).toBe(true)
    }),
    { numRuns },
  )
  expect(isApplied({ bound: 'risk', equals: 'high' }, { risk: 'low' }, { amount: 50 })).toBe(false)
  expect(isApplied({ bound: 'risk', equals: 'high' }, { risk: null }, { amount: 50 })).toBe(true)
  expect(isApplied({ bound: 'risk', one_of: [null, 'high'] }, { risk: 'low' }, { amount: 50 })).toBe(false)
})

const reversed = (value: unknown): unknown =>
  typeof value !== 'object' || value === null
    ? value
    : Array.isArray(value)
      ? value.map(reversed)
      : Object.fromEntries(
          Object.entries(value)
            .reverse()
            .map(([key, part]) => [key, reversed(part)]),
        )

proves('condition.order', 'the order of keys and of conditions changes nothing', () => {
  fc.assert(
    fc.property(ruleKey, when, turns, fc.constantFrom(...PRINCIPALS), (key, conditions, list, principal) => {
      const contract = restricted('pay', key, conditions)
      const other = reversed(restricted('pay', key, [...conditions].reverse())) as Contract
      const [one, two] = [contract, other].map((item) =>
        runOrNull([LOOK, item, { tool: 'send' }], list as Turns, principal),
      )
      const decided = (run: typeof one) => run?.turns.map(({ removed, decisions }) => [removed, decisions.map(outcome)])
      expect(isDeepStrictEqual(decided(one), decided(two))).toBe(true)
    }),
    { numRuns },
  )
})

const outcome = ({
  decision,
  reasons,
  checkpoint_required,
}: ReturnType<typeof runCaseOnEngine>['turns'][number]['decisions'][number]) => [
  decision,
  checkpoint_required,
  reasons.map(({ reason, detail }) => [reason, detail]),
]

test('the rules of these properties decide in both ways', () => {
  const rule: ArgumentRule = { path: '$.amount', lte: 20, when: [{ path: '$.env', equals: 'production' }] }
  const contract: Contract = { tool: 'pay', argument_value_invariants: [rule] }
  const decide = (env: string) =>
    runOrNull([contract], [[{ tool: 'pay', args: { env, amount: 50 } }]], undefined)?.turns[0]?.decisions[0]?.decision
  expect(decide('production')).toBe('block')
  expect(decide('staging')).toBe('allow')
})
