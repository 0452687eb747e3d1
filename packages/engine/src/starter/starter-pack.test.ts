import type { JsonObject, JsonValue } from '@countersign/protocol'
import { describe, expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { readStories } from '../backtest/read-stories.js'
import { runStory } from '../backtest/run-story.js'
import { compilePlan } from '../compile/compile-plan.js'
import { readToolDefinitions } from './read-tool-definitions.js'
import { starterPack } from './starter-pack.js'

const REFUND = {
  type: 'object',
  properties: { order_id: { type: 'string' }, amount: { type: 'number', exclusiveMinimum: 0 } },
  required: ['order_id', 'amount'],
}

/** The files of a pack by name, after it was seen to compile and its stories to come as expected. */
function packOf(definitions: JsonValue): Map<string, string> {
  const read = readToolDefinitions(definitions)
  if (!read.ok) throw new Error(read.problem)
  const pack = starterPack(read.tools)
  if (!pack.ok) throw new Error(pack.problems.join('\n'))
  const files = new Map(pack.files.map(({ file, text }) => [file, text]))
  expect(files.size).toBe(pack.files.length)
  const stories = readStories({ file: 'tools.test.yaml', text: files.get('tools.test.yaml') ?? '' })
  if (!stories.ok) throw new Error(stories.problems.join('\n'))
  const plan = planOf(files)
  for (const story of stories.stories) expect(runStory(story, plan)).toEqual([])
  return files
}

function planOf(files: ReadonlyMap<string, string>) {
  const contracts = [...files].filter(([file]) => file !== 'session.yaml' && !/^\.|\.test\.yaml$/.test(file))
  const result = compilePlan({
    contracts: contracts.map(([file, text]) => ({ file, text })),
    session: { file: 'session.yaml', text: files.get('session.yaml') ?? '' },
  })
  if (!result.ok) throw new Error(JSON.stringify(result.errors))
  return result.plan
}

describe('a first pack', () => {
  test.each<[string, JsonValue]>([
    ['OpenAI chat', { tools: [{ type: 'function', function: { name: 'refund', parameters: REFUND } }] }],
    ['OpenAI responses', [{ type: 'function', name: 'refund', parameters: REFUND, strict: true }]],
    [
      'a namespace of OpenAI',
      [{ type: 'namespace', tools: [{ type: 'function', name: 'refund', parameters: REFUND }] }],
    ],
    ['Anthropic', { model: 'claude', tools: [{ name: 'refund', input_schema: REFUND }] }],
    [
      'an answer to tools/list',
      { jsonrpc: '2.0', id: 1, result: { tools: [{ name: 'refund', inputSchema: REFUND }] } },
    ],
  ])('reads tools of %s', (_, definitions) => {
    const files = packOf(definitions)
    expect([...files.keys()]).toEqual(['refund.yaml', 'session.yaml', 'tools.test.yaml'])
    expect(files.get('refund.yaml')).toContain('side_effect: financial')
    expect(files.get('refund.yaml')).toContain('additionalProperties: false')
    expect(files.get('tools.test.yaml')).toContain('expect: ask')
  })

  test('rules in comments compile when somebody takes them out', () => {
    const files = packOf([
      { name: 'refund', inputSchema: REFUND },
      { name: 'fetch_web', inputSchema: { type: 'object', properties: { 'the url': { type: 'string' } } } },
    ])
    const all = [...files].map(([file, text]) => {
      const rules = /^# ((argument_value_invariants|aggregates|sources|labels): )/gm
      return [file, text.replaceAll(rules, '$1')] as const
    })
    const { contracts } = planOf(new Map(all))
    expect(contracts.get('refund')?.aggregates).toHaveLength(1)
    expect(contracts.get('refund')?.sources).toHaveLength(1)
    expect(contracts.get('refund')?.aggregates[0]?.key?.expression).toBe('$.order_id')
    expect(contracts.get('fetch_web')?.sources).toHaveLength(1)
  })

  test('a sum is kept for what the call is about, a share is bounded in each call, and no name leaves its comment', () => {
    const numbers = { amount: { type: 'number' } }
    const contractOf = (properties: JsonObject) =>
      packOf([{ name: 'pay', inputSchema: { type: 'object', properties } }]).get('pay.yaml') ?? ''
    expect(contractOf(numbers)).toContain('# aggregates: [{ name: total_pay, path: $.amount, lte: 1000 }]\n')
    expect(contractOf({ customer: { type: 'string' }, discount_percent: { type: 'number' } })).toMatch(
      /# At most so much in a call:\n# argument_value_invariants: \[\{ path: \$.discount_percent, gt: 0, lte: 20 \}\]\n/,
    )
    const hostile = contractOf({ 'a\ngate: allow': { type: 'string' }, ...numbers })
    expect(hostile.split('\n').filter((line) => line.startsWith('gate'))).toEqual([])
  })

  test('the side effect is what an MCP server declares, or guessed', () => {
    const files = packOf([
      { name: 'tidy', annotations: { destructiveHint: true } },
      { name: 'look', annotations: { readOnlyHint: true, openWorldHint: true } },
      { name: 'delete_all', annotations: { readOnlyHint: true } },
      { name: 'write_note', annotations: { destructiveHint: false } },
    ])
    const effect = (tool: string) => /^side_effect: (\w+)/m.exec(files.get(`${tool}.yaml`) ?? '')?.[1]
    expect(['tidy', 'look', 'delete_all', 'write_note'].map(effect)).toEqual([
      'destructive',
      'egress_read',
      'read',
      'write',
    ])
  })

  const ASKED = {
    admin:
      'deploy_production grant_access set_permission add_user rotate_key restart_server shutdown_vm execute_command run_sql ' +
      'close_account resetPassword mcp__ops__stop_cluster update_user_roles Bash modify_security_group add_to_group set_env_var',
    financial:
      'send_funds place_order issue_credit submitOrders order_pizza create_payouts check_out topup_wallet add_credits ' +
      'transferMoney apply_discount look_up_and_charge',
    destructive:
      'delete_file cancel_order clear_cart trash_mail find_and_delete empty_trash get_rows_then_purge update_and_delete',
    write: 'frobnicate process_request book_flight computer x calendar_sync',
  }
  proves('contract.init.asks', 'tools that pay, delete or administer, and names that say nothing, ask a person', () => {
    for (const [effect, names] of Object.entries(ASKED)) {
      for (const name of names.split(' ')) {
        const files = packOf([{ name }])
        const text = files.get(`${name}.yaml`) ?? ''
        expect(text, name).toContain(`\nside_effect: ${effect}\n`)
        expect(text.includes('\ncheckpoint:\n'), name).toBe(effect === 'write')
        expect(files.get('tools.test.yaml'), name).toContain(`call: ${name}\n        with: {}\n        expect: ask\n`)
      }
    }
    const allowed =
      'get_user list_payments search_orders read_key find_order look_up_account write_note send_email create_event ' +
      'update_order_address github_create_issue slack_send_message email_customer get_terms_and_roles search_and_replace ' +
      'notify_user ask_admin reply_to_customer run_tests'
    for (const name of allowed.split(' ')) {
      expect(packOf([{ name }]).get('tools.test.yaml'), name).toContain(
        `call: ${name}\n        with: {}\n        expect: allow\n`,
      )
    }
  })

  test('tools that the provider runs are named as they are offered, and in no story', () => {
    const files = packOf([{ type: 'web_search' }, { type: 'bash_20250124', name: 'bash' }])
    expect([...files.keys()]).toEqual(['web_search.yaml', 'bash.yaml', 'session.yaml', 'tools.test.yaml'])
    expect(files.get('tools.test.yaml')).not.toContain('web_search')
  })

  test('names that files cannot have, or that are no contracts, and names that collide', () => {
    const names = [
      'session',
      'workflow',
      '.hidden',
      'run.test',
      '../up',
      'A',
      'a',
      'a/b',
      'a_b',
      'ünïcode',
      'x: [y',
      'unknown_tool',
    ]
    const files = packOf(names.map((name) => ({ name })))
    const lower = [...files.keys()].map((file) => file.toLowerCase())
    expect(new Set(lower).size).toBe(names.length + 2)
    expect([...planOf(files).contracts.keys()].sort()).toEqual([...names].sort())
    expect(files.get('tools.test.yaml')).toContain('call: another_unknown_tool')
  })

  test('a schema that does not compile is left out, and said', () => {
    const files = packOf([
      { name: 'odd', inputSchema: { type: 'object', nonsense: 1 } },
      {
        name: 'recursive',
        inputSchema: { $ref: '#/$defs/a', $defs: { a: { type: 'object', properties: { a: { $ref: '#' } } } } },
      },
      { name: 'open', inputSchema: { type: 'object', additionalProperties: { type: 'string' } } },
      { name: 'deep', inputSchema: nested(40) },
    ])
    expect(files.get('odd.yaml')).toContain('# Its arguments are not checked yet: the JSON Schema is invalid')
    expect(files.get('open.yaml')).not.toContain('additionalProperties: false')
    expect(files.get('recursive.yaml')).toContain('$ref')
  })

  test('a description with comments, quotes, line breaks and control characters stays one', () => {
    const description = 'first\n# side_effect: read\n"x" \u0000 \u2028 : - ['
    const files = packOf([{ name: 'pay', description }])
    expect(files.get('pay.yaml')).toContain('side_effect: financial')
  })

  test('many tools', () => {
    const files = packOf(Array.from({ length: 300 }, (_, at) => ({ name: `tool_${at}`, inputSchema: REFUND })))
    expect(files.size).toBe(302)
  })

  test.each<[JsonValue, string]>([
    [{}, 'no list of tools'],
    ['tools', 'no list of tools'],
    [[], 'the list of tools is empty'],
    [[{ name: 'a' }, 7], 'tool 2 has no name'],
    [[{ type: 'function', function: { description: 'x' } }], 'tool 1 has no name'],
    [[{ name: 'a' }, { name: 'a' }], 'names the tool "a" twice'],
    [[{ name: 'a'.repeat(257) }], 'is longer than 256 characters'],
    [Array.from({ length: 1_001 }, (_, at) => ({ name: `t${at}` })), 'more than 1000 tools'],
  ])('definitions that are none are refused: %#', (definitions, problem) => {
    expect(readToolDefinitions(definitions)).toEqual({ ok: false, problem: expect.stringContaining(problem) })
  })
})

const nested = (depth: number): JsonValue =>
  depth === 0
    ? { type: 'array', minItems: 1_000, items: { type: 'string' } }
    : {
        type: 'object',
        properties: { a: { type: 'array', minItems: 1_000, items: nested(depth - 1) } },
        required: ['a'],
      }
