import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Condition, Contract, JsonObject } from '@countersign/protocol'
import { afterAll, describe, expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { prepareContracts, ReplayConfigError, validate } from '../index.js'

const REFUND: Contract = {
  tool: 'refund',
  assertions: { output_invariants: [{ path: '$.tool_calls[0].name', equals: 'refund' }] },
  argument_value_invariants: [{ path: '$.amount', gt: 0, lte: 500 }],
}

const call = (name: string, args: unknown) => ({ id: 'c1', name, arguments: JSON.stringify(args) })
const normalized = (...calls: unknown[]) => ({ tool_calls: calls })
const folders: string[] = []

function folder(files: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), 'countersign-pack-'))
  folders.push(root)
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(root, name, '..'), { recursive: true })
    writeFileSync(join(root, name), text)
  }
  return root
}

afterAll(() => {
  for (const root of folders) rmSync(root, { recursive: true, force: true })
})

const YAML = 'tool: refund\nargument_value_invariants:\n  - { path: $.amount, lte: 500 }\n'

const RESULT_FACTS = ['validation-result.pass', 'validation-result.failures'] as const
const FAILURE_FACTS = [
  'contract-failure.path',
  'contract-failure.operator',
  'contract-failure.expected',
  'contract-failure.found',
  'contract-failure.message',
  'contract-failure.contract-file',
] as const

describe('validate', () => {
  test.each([
    ['no options', undefined, 'validate needs the option contracts'],
    ['no contracts', {}, 'validate needs the option contracts'],
    ['an option of replay', { contractsDir: 'contracts' }, 'option contractsDir of validate is unknown'],
    ['a misspelt option', { contracts: [REFUND], unmatchedpolicy: 'allow' }, 'did you mean "unmatchedPolicy"?'],
    ['contracts that are none', { contracts: 5 }, 'pass a folder, an array of contract files, or contract objects'],
    [
      'a folder that is not there',
      { contracts: 'no-such-folder' },
      `there is no folder ${join(process.cwd(), 'no-such')}`,
    ],
  ])('%s is refused, with what to give', (_what, options, text) => {
    const judge = () => Reflect.apply(validate, undefined, [normalized(), options])
    expect(judge).toThrow(ReplayConfigError)
    expect(judge).toThrow(text)
  })

  proves(['validate.synchronous', 'validation-result.evaluation-ms', 'validation-result.matched-contracts'], () => {
    const result = validate(normalized(call('refund', { amount: 5 })), { contracts: [REFUND] })
    expect(result).not.toBeInstanceOf(Promise)
    expect(result).toMatchObject({ pass: true, failures: [], matched_contracts: 1, unmatched_tools: [] })
    expect(result.evaluation_ms).toBeGreaterThanOrEqual(0)
  })

  proves([...RESULT_FACTS, ...FAILURE_FACTS], 'a failure says where, by which rule, and what was found', () => {
    const contracts = prepareContracts(folder({ 'refund.yaml': YAML }))
    const good = validate(normalized(call('refund', { amount: 500 })), { contracts })
    const bad = validate(normalized(call('refund', { amount: 501 })), { contracts })
    expect([good.pass, good.failures]).toEqual([true, []])
    expect(bad.pass).toBe(false)
    expect(bad.failures).toEqual([
      {
        path: '$.tool_calls[0].arguments.amount',
        operator: 'lte',
        expected: 500,
        found: 501,
        message: 'must be a number of at most 500',
        contract_file: 'refund.yaml',
      },
    ])
  })

  proves('condition.validate', 'a rule with conditions on arguments is checked, one on the session is not', () => {
    const rule = (when: Condition, lte: number) => ({ path: '$.amount', lte, when: [when] })
    const contracts: Contract[] = [
      {
        tool: 'refund',
        argument_value_invariants: [
          rule({ path: '$.kind', equals: 'gift' }, 5),
          rule({ label: 'untrusted' }, 1),
          rule({ principal: '$.role', equals: 'clerk' }, 2),
        ],
      },
    ]
    const expected = (args: JsonObject) =>
      validate(normalized(call('refund', args)), { contracts }).failures.map((failure) => failure.expected)
    expect(expected({ amount: 9, kind: 'gift' })).toEqual([5])
    expect(expected({ amount: 9, kind: 'return' })).toEqual([])
    expect(expected({ amount: 9 })).toEqual([5])
  })

  proves(
    ['validate.unmatched-policy.default', 'validate.unmatched-policy.deny', 'validation-result.unmatched-tools'],
    () => {
      for (const options of [{}, { unmatchedPolicy: 'deny' as const }]) {
        const response = normalized(
          call('refund', { amount: 1 }),
          { ...call('wire', {}), id: 'c2' },
          { ...call('mint', {}), id: 'c3' },
        )
        const result = validate(response, { contracts: [REFUND], ...options })
        expect(result.pass).toBe(false)
        expect(result.unmatched_tools).toEqual(['wire', 'mint'])
        expect(result.failures.map(({ path, found }) => [path, found])).toEqual([
          ['$.tool_calls[1].name', 'wire'],
          ['$.tool_calls[2].name', 'mint'],
        ])
      }
    },
  )

  proves(
    'error.rule.validate-unmatched',
    'each call without a contract is a failure, also one after another of the same tool',
    () => {
      const again = [
        call('refund', { amount: 1 }),
        { ...call('wire', {}), id: 'c2' },
        { ...call('wire', {}), id: 'c3' },
      ]
      const { pass, failures, unmatched_tools } = validate(normalized(...again), { contracts: [REFUND] })
      expect(pass).toBe(false)
      expect(failures.map(({ path }) => path)).toEqual(['$.tool_calls[1].name', '$.tool_calls[2].name'])
      expect(unmatched_tools).toEqual(['wire'])
    },
  )

  proves('validate.unmatched-policy.allow', () => {
    const result = validate(normalized(call('wire', {})), { contracts: [REFUND], unmatchedPolicy: 'allow' })
    expect(result).toMatchObject({ pass: true, failures: [], unmatched_tools: ['wire'], matched_contracts: 0 })
  })

  proves('validate.openai', () => {
    const message = {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'refund', arguments: '{"amount":501}' } }],
    }
    const response = {
      id: 'r',
      object: 'chat.completion',
      choices: [{ index: 0, finish_reason: 'tool_calls', message }],
    }
    expect(validate(response, { contracts: REFUND }).failures.map(({ operator }) => operator)).toEqual(['lte'])
  })

  proves('validate.anthropic', () => {
    const content = [{ type: 'tool_use', id: 'c', name: 'refund', input: { amount: -1 } }]
    const response = { id: 'm', type: 'message', role: 'assistant', stop_reason: 'tool_use', content }
    expect(validate(response, { contracts: REFUND }).failures.map(({ operator }) => operator)).toEqual(['gt'])
  })

  proves('validate.normalized', () => {
    const result = validate(normalized(call('refund', { amount: '5' })), { contracts: REFUND })
    expect(result.failures.map(({ path, operator }) => [path, operator])).toEqual([
      ['$.tool_calls[0].arguments.amount', 'gt'],
      ['$.tool_calls[0].arguments.amount', 'lte'],
    ])
  })

  test.each([
    ['a text', 'hello'],
    ['null', null],
    ['arguments that are no JSON', { tool_calls: [{ id: 'c', name: 'refund', arguments: '{' }] }],
    ['a key twice', { tool_calls: [{ id: 'c', name: 'refund', arguments: '{"amount":1,"amount":501}' }] }],
    ['a prototype key', { tool_calls: [{ id: 'c', name: 'refund', arguments: '{"amount":1,"__proto__":{}}' }] }],
    ['a call without id', { tool_calls: [{ name: 'refund', arguments: '{"amount":1}' }] }],
  ])('%s does not pass', (_, response) => {
    expect(validate(response, { contracts: REFUND, unmatchedPolicy: 'allow' }).pass).toBe(false)
  })

  test('the tools of the prototype have no contract', () => {
    for (const name of ['__proto__', 'toString', 'constructor']) {
      expect(validate(normalized(call(name, {})), { contracts: REFUND }).unmatched_tools).toEqual([name])
    }
  })

  test('an unknown unmatchedPolicy is refused', () => {
    expect(() => validate(normalized(), { contracts: REFUND, unmatchedPolicy: 'block' as 'deny' })).toThrow(
      ReplayConfigError,
    )
  })
})

describe('prepareContracts', () => {
  proves('validate.prepare.directory', () => {
    const session = 'phases: [{ name: a, initial: true, terminal: true }]\n'
    const flat = prepareContracts(folder({ 'refund.yaml': YAML, 'session.yaml': session }))
    const nested = prepareContracts(folder({ 'contracts/refund.yaml': YAML, 'session.yaml': session, 'notes.md': 'x' }))
    const inner = prepareContracts(
      join(folder({ 'contracts/refund.yaml': YAML, 'session.yaml': session }), 'contracts'),
    )
    expect(nested.compiled_hash).toBe(flat.compiled_hash)
    expect(inner.compiled_hash).toBe(flat.compiled_hash)
    expect(flat.plan.phases?.initial).toBe('a')
    expect([flat, nested].map(({ plan }) => plan.contracts.get('refund')?.file)).toEqual([
      'refund.yaml',
      'contracts/refund.yaml',
    ])
  })

  proves('validate.prepare.files', () => {
    const root = folder({ 'a.yaml': YAML, 'b.json': '{"tool":"look"}', 'session.yaml': 'agent: support\n' })
    const prepared = prepareContracts([join(root, 'a.yaml'), join(root, 'b.json')])
    expect([...prepared.plan.contracts.keys()]).toEqual(['look', 'refund'])
    expect(prepareContracts([join(root, 'a.yaml'), join(root, 'session.yaml')]).plan.session.agent).toBe('support')
  })

  proves('validate.prepare.objects', () => {
    expect([...prepareContracts(REFUND).plan.contracts.keys()]).toEqual(['refund'])
    expect([...prepareContracts([REFUND, { tool: 'look' }]).plan.contracts.keys()]).toEqual(['look', 'refund'])
  })

  test.each<[string, () => string | string[]]>([
    ['a folder that is not there', () => join(folder({}), 'none')],
    ['an empty folder', () => folder({})],
    ['a path with ..', () => `${folder({ 'a.yaml': YAML })}/../x`],
    ['a file path with ..', () => [`${folder({ 'a.yaml': YAML })}/../a.yaml`]],
    ['a file that is not there', () => [join(folder({}), 'a.yaml')]],
    ['one bad contract among good ones', () => folder({ 'a.yaml': YAML, 'b.yaml': 'tool: b\nunknown: 1\n' })],
    ['two contracts for one tool', () => folder({ 'a.yaml': YAML, 'b.yaml': YAML })],
    ['two session files', () => folder({ 'contracts/a.yaml': YAML, 'session.yaml': '', 'contracts/session.yaml': '' })],
    [
      'a file of no UTF-8',
      () => {
        const root = folder({ 'a.yaml': YAML })
        writeFileSync(join(root, 'b.yaml'), Buffer.from([0x74, 0xff, 0xfe]))
        return root
      },
    ],
    [
      'a link that leads out of the folder',
      () => {
        const root = folder({ 'a.yaml': YAML })
        symlinkSync(join(folder({ 'b.yaml': 'tool: b\n' }), 'b.yaml'), join(root, 'b.yaml'))
        return root
      },
    ],
    [
      'a link to nothing',
      () => {
        const root = folder({ 'a.yaml': YAML })
        symlinkSync(join(root, 'none'), join(root, 'b.yaml'))
        return root
      },
    ],
    [
      'a session file behind a link out',
      () => {
        const root = folder({ 'a.yaml': YAML })
        symlinkSync(join(folder({ 'session.yaml': '' }), 'session.yaml'), join(root, 'session.yaml'))
        return root
      },
    ],
    [
      'a file larger than a plan may be',
      () => folder({ 'a.yaml': YAML, 'b.yaml': `tool: b\ndescription: ${'x'.repeat(1_100_000)}\n` }),
    ],
  ])('%s is refused whole', (_, input) => {
    const attempt = () => prepareContracts(input())
    expect(attempt).toThrow(ReplayConfigError)
    expect(attempt).toThrow(expect.objectContaining({ condition: 'compilation_failed' }))
  })

  test.skipIf(process.getuid?.() === 0)('an unreadable file is refused', () => {
    const root = folder({ 'a.yaml': YAML, 'b.yaml': 'tool: b\n' })
    chmodSync(join(root, 'b.yaml'), 0)
    expect(() => prepareContracts(root)).toThrow(/b\.yaml cannot be read/)
  })

  test('errors name file, line and fix', () => {
    const root = folder({ 'a.yaml': 'tool: a\nside_efect: read\n' })
    expect(() => prepareContracts(root)).toThrow(
      'a.yaml:2 side_efect: unknown key "side_efect" (did you mean "side_effect"?)',
    )
  })
})

proves('option.contracts-dir.parent', 'a path that the program names may lead upwards', () => {
  const root = folder({ 'contracts/a.yaml': YAML, 'src/main.ts': '' })
  const prepared = prepareContracts(`${root}/src/../contracts`)
  expect([...prepared.plan.contracts.keys()]).toHaveLength(1)
})
