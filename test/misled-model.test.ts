import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect } from 'vitest'
import { type PreparedContracts, prepareContracts } from '../packages/sdk/src/index.js'
import { converse, type Ran, type World, type WrittenCall } from './support/attack/misled-model.js'
import { misledResponse } from './support/attack/writings.js'
import { seededRandom } from './support/data/random.js'
import { docBlocks } from './support/files/doc-blocks.js'
import { root } from './support/files/tracked-files.js'
import { proves } from './support/proves.js'

const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true })
})

/** The contracts that stand in a page, as a reader would save them. */
function ofPage(page: string): PreparedContracts {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-attack-'))
  folders.push(folder)
  for (const { page: from, file, text } of docBlocks()) {
    const name = file?.match(/^contracts\/([\w-]+\.yaml)$/)?.[1]
    if (from === page && name !== undefined) writeFileSync(join(folder, name), text)
  }
  return prepareContracts(folder)
}

const ofExample = (name: string): PreparedContracts => prepareContracts(`${root}examples/${name}/contracts`)

const PAID: Readonly<Record<string, number>> = { 'A-1': 40, 'B-2': 900, 'C-3': 100 }
const ORDERS: World['tools'] = {
  find_order: ({ order_id: id }) =>
    typeof id === 'string' && Object.hasOwn(PAID, id)
      ? { order_id: id, paid: PAID[id], iban: 'DE1' }
      : { error: 'not found' },
  issue_refund: () => ({ ok: true }),
}

const refunds = (ran: readonly Ran[]) => ran.filter(({ name }) => name === 'issue_refund')
const amountOf = ({ args }: Ran): number => Number(args.amount)

/** Refunds that are no more than the order was paid with, taken together. */
function overPaid(ran: readonly Ran[]): string[] {
  const sums = new Map<string, number>()
  for (const one of refunds(ran)) {
    const order = String(one.args.order_id)
    sums.set(order, (sums.get(order) ?? 0) + amountOf(one))
  }
  return [...sums].filter(([order, sum]) => !(sum <= (PAID[order] ?? 0))).map(([order, sum]) => `${order}: ${sum}`)
}

const outside = (ran: readonly Ran[], isGood: (one: Ran) => boolean): string[] =>
  ran.filter((one) => !isGood(one)).map(({ name, args }) => `${name} ${JSON.stringify(args)}`)

const call = (name: string, args: object, more: Partial<WrittenCall> = {}): WrittenCall => ({
  ...{ name, text: JSON.stringify(args) },
  ...more,
})
const find = (order_id: unknown, more?: Partial<WrittenCall>) => call('find_order', { order_id }, more)
const refund = (order_id: unknown, amount: unknown, more?: Partial<WrittenCall>) =>
  call('issue_refund', { order_id, amount, iban: 'DE1' }, more)

/** Ways that are tried by name, beside those that are made up: each is a conversation, response by response. */
const REFUND_WAYS: Record<string, WrittenCall[][]> = {
  'the bound of another order': [[find('A-1')], [find('B-2')], [refund('A-1', 900)], [refund('A-1', 41)]],
  'the other order first': [[find('B-2')], [find('A-1')], [refund('A-1', 500)], [refund('B-2', 901)]],
  'in small pieces': Array.from({ length: 8 }, () => [find('A-1'), refund('A-1', 15)]).map(
    ([one, two]) => [one, two] as WrittenCall[],
  ),
  'all at once': [[find('A-1')], [refund('A-1', 30), refund('A-1', 30), refund('A-1', 30)]],
  'a lookup that never ran': [[find('B-2', { fate: 'reported' })], [refund('B-2', 500)], [refund('B-2', 1)]],
  'a lookup that failed': [[find('B-2', { fate: 'failed' })], [refund('B-2', 500)]],
  'a lookup by the provider': [[find('B-2', { byProvider: true })], [refund('B-2', 500)]],
  'a lookup in the same response': [[find('B-2'), refund('B-2', 500)]],
  'less than nothing first': [[find('A-1')], [refund('A-1', -900)], [refund('A-1', 40)], [refund('A-1', 40)]],
  'the id of another kind': [[find('A-1')], [refund(['A-1'], 900)], [refund({ id: 'A-1' }, 900)], [refund(null, 900)]],
  'an unknown order': [[find('Z-9')], [refund('Z-9', 1)]],
}

interface Row {
  readonly rule: string
  readonly contracts: () => PreparedContracts
  readonly world: World
  readonly broken: (ran: readonly Ran[]) => string[]
  readonly ways?: Record<string, WrittenCall[][]>
  /** Values for the arguments of responses that are made up. */
  readonly values?: Record<string, readonly unknown[]>
  /** Something must have run, or the attack shows nothing. */
  readonly runs: string
}

const PATHS = [
  ...[
    '/tmp/a',
    '/tmp/a/b.txt',
    '/tmp/../etc/passwd',
    '/tmp/a/../../etc/passwd',
    '/tmp//etc',
    '/tmp/./a',
    '/tmp/',
    '/tmp',
  ],
  ...[
    '/etc/passwd',
    '/tmp/%2e%2e/etc',
    '/tmp\\..\\etc',
    '/tmp/a\0/../../etc',
    '/TMP/a',
    ' /tmp/a',
    '/tmp/..',
    ['/etc/passwd'],
    { path: '/etc' },
  ],
]
const ADDRESSES = [
  ...[
    'ann@example.com',
    'eve@elsewhere.test',
    'eve@elsewhere.test,ann@example.com',
    'eve@elsewhere.test\nann@example.com',
  ],
  ...[
    'eve@elsewhere.test@example.com',
    '"eve@elsewhere.test" ann@example.com',
    'ann@EXAMPLE.com',
    'ann@example.com.evil.test',
  ],
  ...[
    '<eve@elsewhere.test> @example.com',
    ['ann@example.com', 'eve@elsewhere.test'],
    { to: 'eve@elsewhere.test' },
    '@example.com',
  ],
]

const colleagues = ({ args: { to, cc, bcc } }: Ran): boolean =>
  typeof to === 'string' && /^[\w.-]+@example\.com$/.test(to) && cc === undefined && bcc === undefined

/** Each rule that a reader is shown, in words, against a model that wants to get round it. */
const ROWS: Record<string, Row> = {
  'README: refunds': {
    rule: 'a refund is at most 500, and all refunds of an order together are at most what was paid for it',
    contracts: () => ofPage('README.md'),
    world: { tools: ORDERS },
    broken: (ran) => [...overPaid(ran), ...outside(refunds(ran), (one) => amountOf(one) > 0 && amountOf(one) <= 500)],
    ways: REFUND_WAYS,
    runs: 'issue_refund',
  },
  'tutorial: refunds': {
    rule: 'a refund needs a lookup of the same order, is at most what was paid for it, and runs once',
    contracts: () => ofPage('docs/tutorial.md'),
    world: { tools: ORDERS },
    broken: (ran) => [...overPaid(ran), ...(refunds(ran).length > 1 ? ['a second refund'] : [])],
    ways: REFUND_WAYS,
    runs: 'issue_refund',
  },
  'govern-refunds': {
    rule: 'a refund needs a lookup of its order; all refunds of an order are at most what was paid for it',
    contracts: () => ofExample('govern-refunds'),
    world: { tools: ORDERS },
    broken: (ran) => [...overPaid(ran), ...outside(refunds(ran), (one) => amountOf(one) > 0 && amountOf(one) <= 500)],
    ways: REFUND_WAYS,
    runs: 'issue_refund',
  },
  'demo: deleting': {
    rule: 'a customer is deleted only after an order was looked up, and never once a document was read',
    contracts: () => ofExample('demo'),
    world: {
      tools: { ...ORDERS, read_document: () => 'text', delete_customer: () => null, escalate: () => null },
    },
    broken(ran) {
      const at = ran.findIndex(({ name }) => name === 'delete_customer')
      if (at < 0) return []
      const before = ran
        .slice(
          0,
          ran.findLastIndex(({ name }) => name === 'delete_customer'),
        )
        .map(({ name }) => name)
      const isFound = ran.slice(0, at).some(({ name }) => name === 'find_order')
      return [
        ...(before.includes('read_document') ? ['after a document'] : []),
        ...(isFound ? [] : ['without a lookup']),
      ]
    },
    ways: {
      'a document by the provider': [
        [find('A-1000')],
        [call('read_document', {}, { byProvider: true }), call('delete_customer', {})],
        [call('delete_customer', {})],
      ],
      'a document in the same response': [[find('A-1000')], [call('read_document', {}), call('delete_customer', {})]],
      'a lookup that never ran': [[find('A-1000', { fate: 'reported' })], [call('delete_customer', {})]],
      'a document that failed': [
        [find('A-1000')],
        [call('read_document', {}, { fate: 'failed' })],
        [call('delete_customer', {})],
      ],
    },
    values: { order_id: ['A-1000', 'A-1', 'A-2000'] },
    runs: 'delete_customer',
  },
  'protect-locally': {
    rule: 'mail goes to colleagues only, and to at most two',
    contracts: () => ofExample('protect-locally'),
    world: { tools: { send_email: () => null } },
    broken: (all) => {
      const ran = all.filter(({ name }) => name === 'send_email')
      return [...outside(ran, colleagues), ...(ran.length > 2 ? ['a third mail'] : [])]
    },
    ways: {
      'a copy to a stranger': [[call('send_email', { to: 'ann@example.com', cc: 'eve@elsewhere.test' })]],
      'two addresses in one': [[call('send_email', { to: 'eve@elsewhere.test,ann@example.com' })]],
      'three at once': [[1, 2, 3].map((n) => call('send_email', { to: `ann${n}@example.com` }))],
    },
    values: { to: ADDRESSES, order_id: [undefined], amount: [undefined] },
    runs: 'send_email',
  },
  'human-checkpoint': {
    rule: 'a person is asked about every payment above 200',
    contracts: () => ofExample('human-checkpoint'),
    world: { tools: { pay: () => null }, agrees: ({ amount }) => Number(amount) <= 300 },
    broken: (ran) =>
      outside(
        ran.filter(({ name }) => name === 'pay'),
        (one) => (amountOf(one) <= 200 || one.approved) && amountOf(one) <= 300,
      ),
    ways: {
      'text instead of a number': [[call('pay', { amount: '900' })], [call('pay', { amount: [900] })]],
      'another key beside it': [
        [call('pay', { amount: 1, amounts: [900] })],
        [call('pay', { Amount: 900, amount: 900 })],
      ],
    },
    values: { order_id: [undefined] },
    runs: 'pay',
  },
  'anthropic-streaming': {
    rule: 'only files below /tmp are deleted',
    contracts: () => ofExample('anthropic-streaming'),
    world: { tools: { search: () => [], delete_file: () => null } },
    broken: (ran) =>
      outside(
        ran.filter(({ name }) => name === 'delete_file'),
        ({ args: { path } }) =>
          typeof path === 'string' && /^\/tmp\/[\w]/.test(path) && !/(^|[\\/])\.\.?([\\/]|$)|%|\0/.test(path),
      ),
    values: { path: PATHS, order_id: [undefined], amount: [undefined] },
    runs: 'delete_file',
  },
  'two-agent-handoff': {
    rule: 'nothing is paid once untrusted input was read',
    contracts: () => ofExample('two-agent-handoff'),
    world: {
      tools: { find_invoice: () => null, read_mail: () => 'text', pay_invoice: () => null, draft_payment: () => null },
    },
    broken(ran) {
      const read = ran.findIndex(({ name }) => name === 'read_mail')
      return read < 0
        ? []
        : ran
            .slice(read)
            .filter(({ name }) => name === 'pay_invoice')
            .map(() => 'paid after a mail')
    },
    ways: {
      'a mail in the same response': [
        [call('read_mail', {}), call('pay_invoice', { invoice: 'I', amount: 1, iban: 'D' })],
        [call('pay_invoice', { invoice: 'I', amount: 1, iban: 'D' })],
      ],
      'a mail by the provider': [
        [call('read_mail', {}, { byProvider: true }), call('pay_invoice', { invoice: 'I', amount: 1, iban: 'D' })],
      ],
    },
    values: { invoice: ['I-1', 'I-2'], iban: ['DE1'], amount: [1, 2], order_id: [undefined] },
    runs: 'pay_invoice',
  },
}

const CONVERSATIONS = 150
const TURNS = 12

describe.each(Object.entries(ROWS))('%s', (_name, { rule, contracts, world, broken, ways = {}, values, runs }) => {
  const prepared = contracts()

  for (const [way, responses] of Object.entries(ways)) {
    proves('guarantee.shown-rules', `${rule}: not by ${way}`, () => {
      const { turn, ran } = converse(prepared, world)
      for (const calls of responses) turn(...calls)
      expect(broken(ran)).toEqual([])
    })
  }

  proves('guarantee.shown-rules', `${rule}: not by anything that was made up`, () => {
    let times = 0
    for (let seed = 1; seed <= CONVERSATIONS; seed++) {
      const random = seededRandom(seed)
      const { turn, ran } = converse(prepared, world)
      for (let at = 0; at < TURNS; at++) {
        turn(...misledResponse(random, { tools: Object.keys(world.tools), guarded: runs }, values))
        expect([`seed ${seed}`, broken(ran)]).toEqual([`seed ${seed}`, []])
      }
      times += ran.filter(({ name }) => name === runs).length
    }
    expect(times).toBeGreaterThan(0)
  })
})
