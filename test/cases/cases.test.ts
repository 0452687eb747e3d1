import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { foldEvents, OPERATORS, REASONS_AFTER_THE_DECISION, verifyChain } from '@countersign/engine'
import { BLOCK_REASON_NAMES, type BlockReason, type SessionEvent } from '@countersign/protocol'
import { describe, expect, test } from 'vitest'
import type { RequirementId } from '../requirements.js'
import { type Case, caseFiles, compareTurn, isTurn, loadCases } from '../support/cases/cases.js'
import { formatCaseFile } from '../support/cases/format-case-file.js'
import { type EngineRun, runCaseOnEngine } from '../support/cases/run-case.js'
import { proves } from '../support/proves.js'

const cases = loadCases('engine')

describe.each([...new Set(cases.map(({ file }) => file))])('%s', (file) => {
  const own = cases.filter((item) => item.file === file)

  test.each(own.map((item) => [item.name, item] as const))('%s', (_, item) => {
    const run = runCaseOnEngine(item)
    const compared = compare(item, run)
    expect(compared.map(({ seen }) => seen)).toEqual(compared.map(({ expected }) => expected))
    expect(verifyChain(run.events)).toMatchObject({ ok: true })
    expect(foldEvents(run.events as unknown as SessionEvent[], run.plan)).toEqual(run.state)
  })
})

const FACTS = {
  killed: 'block.killed',
  response_format_invalid: 'block.response-format-invalid',
  unmatched_tool_blocked: 'block.unmatched-tool-blocked',
  policy_denied: 'block.policy-denied',
  forbidden_tool: 'block.forbidden-tool',
  ambiguous_phase_transition: 'block.ambiguous-phase-transition',
  illegal_phase_transition: 'block.illegal-phase-transition',
  precondition_not_met: 'block.precondition-not-met',
  session_limit_exceeded: 'block.session-limit-exceeded',
  loop_detected: 'block.loop-detected',
  input_invariant_failed: 'block.input-invariant-failed',
  argument_value_mismatch: 'block.argument-value-mismatch',
  output_invariant_failed: 'block.output-invariant-failed',
  binding_not_found: 'block.binding-not-found',
  ref_mismatch: 'block.ref-mismatch',
  aggregate_path_missing: 'block.aggregate-path-missing',
  aggregate_limit_exceeded: 'block.aggregate-limit-exceeded',
  envelope_not_established: 'block.envelope-not-established',
  envelope_violation: 'block.envelope-violation',
  risk_gate_blocked: 'block.risk-gate-blocked',
  execution_constraint_violated: 'block.execution-constraint-violated',
  checkpoint_denied: 'block.checkpoint-denied',
  checkpoint_timeout: 'block.checkpoint-timeout',
  checkpoint_budget_exceeded: 'block.checkpoint-budget-exceeded',
} as const satisfies Record<BlockReason, RequirementId>

test.each(caseFiles().map((path) => [basename(path), path]))(
  '%s has a line for each step; npm run fix formats it',
  (_, path) => {
    const text = readFileSync(path, 'utf8')
    expect(text).toBe(formatCaseFile(text))
  },
)

test('a file of cases is formatted without changing what was written', () => {
  const text = '{"about":"a, b","cases":[{"name":"\\u200b","steps":[{"calls":[{"args":{"n":1.0}}]},{}],"labels":[]}]}'
  const lines = [
    '{',
    '  "about": "a, b",',
    '  "cases": [',
    '    {',
    '      "name": "\\u200b",',
    '      "steps": [',
    '        { "calls": [{ "args": { "n": 1.0 } }] },',
    '        {}',
    '      ],',
    '      "labels": []',
    '    }',
    '  ]',
    '}',
    '',
  ]
  expect(formatCaseFile(text)).toBe(lines.join('\n'))
  const long = `["${'x'.repeat(140)}"]`
  expect(formatCaseFile(`{"about":${long}}`)).toBe(`{\n  "about": [\n    ${long.slice(1, -1)}\n  ]\n}\n`)
})

describe('the cases together', () => {
  const expected = cases.flatMap(({ steps }) => steps.filter(isTurn).flatMap(({ expect: decisions }) => decisions))
  const countOf = (reason: string) => {
    const decided = expected.filter((item) => (typeof item === 'string' ? item : item.reason) === reason).length
    const later = cases.flatMap(({ steps }) => steps.filter(isTurn).flatMap(({ then = [] }) => then))
    return decided + later.filter((end) => end?.stopped === reason).length
  }

  test('are at least 250, each with a name of its own', () => {
    expect(cases.length).toBeGreaterThanOrEqual(250)
    const names = cases.map(({ file, name }) => `${file} ${name}`)
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([])
  })

  for (const reason of BLOCK_REASON_NAMES) {
    proves(FACTS[reason], `reach ${reason} at least three times`, () => {
      const reaching = cases.filter((item) => reaches(item, reason))
      expect(countOf(reason)).toBeGreaterThanOrEqual(3)
      for (const item of reaching) expect(differences(item)).toEqual([])
    })
  }

  test.each(Object.keys(OPERATORS))('use %s both ways', (operator) => {
    const using = cases.filter((item) => usesOperator(item, operator))
    const decisions = using.flatMap(({ steps }) => steps.filter(isTurn).flatMap(({ expect: list }) => list))
    expect(decisions.filter((item) => item === 'allow').length).toBeGreaterThanOrEqual(2)
    expect(decisions.filter((item) => item !== 'allow').length).toBeGreaterThanOrEqual(2)
  })

  test('reach what comes after the decision', () => {
    for (const reason of REASONS_AFTER_THE_DECISION) expect(countOf(reason)).toBeGreaterThanOrEqual(3)
  })
})

function compare(item: Case, { turns }: EngineRun) {
  const steps = item.steps.filter(isTurn)
  expect(turns).toHaveLength(steps.length)
  return steps.map((step, at) => compareTurn(step, turns[at]!))
}

function differences(item: Case): unknown[] {
  return compare(item, runCaseOnEngine(item)).filter(({ expected, seen }) => !isDeepStrictEqual(expected, seen))
}

function reaches({ steps }: Case, reason: BlockReason): boolean {
  return steps
    .filter(isTurn)
    .some(
      ({ expect: list, then = [], preflight }) =>
        list.some((item) => (typeof item === 'string' ? item : item.reason) === reason) ||
        then.some((end) => end?.stopped === reason) ||
        preflight?.reason === reason,
    )
}

function usesOperator({ contracts }: Case, operator: string): boolean {
  return contracts.some(({ argument_value_invariants: list }) => list?.some((item) => Object.hasOwn(item, operator)))
}
