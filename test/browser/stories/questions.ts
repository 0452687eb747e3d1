import type {
  CallRow,
  JsonObject,
  QuestionCard,
  QuestionDetail,
  QuestionRow,
  QuestionStats,
} from '@countersign/protocol'
import { HOSTILE } from './hostile.js'

const HOUR_MS = 3_600_000
const HASH = 'c'.repeat(64)

/** Ids of questions that differ in what a person sees of them. */
export const QUESTIONS = {
  refund: 'Q-REFUNDAAAAAA',
  second: 'Q-REFUNDBBBBBB',
  third: 'Q-REFUNDCCCCCC',
  own: 'Q-OWNREQUESTAA',
  two: 'Q-TWOPEOPLEAAA',
  hostile: 'Q-HOSTILEAAAAA',
  changed: 'Q-CHANGEDAAAAA',
  others: 'Q-FOROTHERSAAA',
  approved: 'Q-APPROVEDAAAA',
  used: 'Q-USEDAAAAAAAA',
  denied: 'Q-DENIEDAAAAAA',
  expired: 'Q-EXPIREDAAAAA',
  erased: 'Q-ERASEDAAAAAA',
} as const

interface Given {
  readonly row?: Partial<QuestionRow>
  readonly card?: Partial<QuestionCard> | null
  readonly detail?: Partial<QuestionDetail>
}

export interface StoryParts {
  readonly now: Date
  readonly sessionId: string
  readonly before: readonly CallRow[]
}

/** Questions to people in every state, as the service describes them. */
export function questionStory({ now, sessionId, before }: StoryParts): Map<string, QuestionDetail> {
  const at = (hours: number) => new Date(now.getTime() + hours * HOUR_MS).toISOString()
  const question = (id: string, { row = {}, card = {}, detail = {} }: Given = {}): QuestionDetail => {
    const base: QuestionRow = {
      question_id: id,
      session_id: sessionId,
      agent: 'support',
      environment: 'production',
      tool_name: 'issue_refund',
      rule: 'issue_refund#0',
      reason: 'Refunds above 500 are for a supervisor.',
      requester: 'Cleo Marsh',
      principal_proof: 'proven',
      state: 'waiting',
      cause: null,
      card_no: 1,
      have: 0,
      needed: 1,
      mine: true,
      asked_at: at(-0.2),
      expires_at: at(23.8),
      usable_until: null,
      decided_at: null,
      delivered: true,
      ...row,
    }
    const full: QuestionCard | null =
      card === null
        ? null
        : {
            tenant_id: 'tnt_story',
            question_id: id,
            card_no: base.card_no,
            session_id: sessionId,
            agent: base.agent,
            environment: base.environment,
            tool_name: base.tool_name,
            arguments: REFUND,
            definition_hash: null,
            plan_hash: 'a'.repeat(64),
            approved_hash: 'a'.repeat(64),
            rules: [{ rule: base.rule, reason: base.reason, context: [{ label: 'how much', path: '$.amount' }] }],
            needed: base.needed,
            eligible: [[{ role: 'approver', from: base.asked_at }]],
            self: 'confirm',
            edit: [],
            expires_at: base.expires_at,
            ...card,
          }
    return {
      question: base,
      card: full,
      card_hash: HASH,
      answers: [],
      deliveries: [
        {
          kind: 'asked',
          channel: 'mail',
          to: 'ben@northwind.example',
          at: at(-0.19),
          sent_at: at(-0.19),
          attempts: 1,
          error: null,
        },
      ],
      may: {
        answer: base.state === 'waiting' && base.mine,
        deny: base.state === 'approved' || (base.state === 'waiting' && base.mine),
        confirms: false,
        ask_again: base.state === 'waiting',
        why_not: base.mine ? null : 'the question has ended',
      },
      last_allowed: null,
      before: [...before],
      remaining: {
        steps: 41,
        tool_calls: 188,
        cost: 3.21,
        calls_this_minute: null,
        calls_per_tool: { issue_refund: 4 },
        checkpoints: 7,
      },
      ...detail,
    }
  }
  const answer = (given: Partial<QuestionDetail['answers'][number]>): QuestionDetail['answers'][number] => ({
    card_no: 1,
    by: 'Ben Ode',
    decision: 'approve',
    relation: 'other',
    channel: 'dashboard',
    note: null,
    edited: null,
    at: at(-0.1),
    ...given,
  })
  const decided = { mine: false, decided_at: at(-0.1) }
  const details = [
    question(QUESTIONS.refund, {
      card: {
        edit: [
          { path: '$.amount', to: 'lower' },
          { path: '$.items', to: 'fewer' },
          { path: '$.reason_code', to: 'one_of', values: ['damaged', 'late', 'other'] },
        ],
      },
      detail: {
        last_allowed: { at: at(-1.5), arguments: { ...REFUND, amount: 40, items: ['A-1003/2'] } },
      },
    }),
    question(QUESTIONS.second, { card: { arguments: { ...REFUND, order_id: 'A-1017', amount: 612.4 } } }),
    question(QUESTIONS.third, { card: { arguments: { ...REFUND, order_id: 'A-1044', amount: 799.1 } } }),
    question(QUESTIONS.own, {
      row: {
        tool_name: 'delete_customer',
        rule: 'delete_customer#risk',
        reason: 'delete_customer cannot be undone.',
        requester: 'Dana Fox',
        principal_proof: 'as_told',
      },
      card: { arguments: { customer_id: 'cus_881' } },
      detail: { may: { answer: true, deny: true, confirms: true, ask_again: true, why_not: null } },
    }),
    question(QUESTIONS.two, {
      row: {
        agent: 'billing-ops',
        tool_name: 'send_invoice',
        rule: 'send_invoice#source',
        reason: 'The IBAN comes from the text of an email.',
        have: 1,
        needed: 2,
        delivered: false,
      },
      card: {
        arguments: { invoice: 'INV-20', iban: 'NL91ABNA0417164300' },
        rules: [
          {
            rule: 'send_invoice#source',
            reason: 'The IBAN comes from the text of an email.',
            context: [{ label: 'IBAN', path: '$.iban' }],
          },
          { rule: 'send_invoice#1', reason: 'Two people look at every invoice abroad.', context: [] },
        ],
        self: 'never',
        eligible: [
          [
            { role: 'finance', from: at(-0.2) },
            { role: 'on-call', from: at(3.8) },
          ],
        ],
        definition_hash: 'd'.repeat(64),
        plan_hash: 'b'.repeat(64),
      },
      detail: {
        answers: [answer({ by: 'Ada Byron', note: 'Checked with the customer by phone.' })],
        deliveries: [
          {
            kind: 'asked',
            channel: 'mail',
            to: 'ada@northwind.example',
            at: at(-2),
            sent_at: null,
            attempts: 3,
            error: 'the mail server refused the connection',
          },
        ],
      },
    }),
    question(QUESTIONS.hostile, {
      row: {
        agent: HOSTILE.agent,
        tool_name: HOSTILE.tool,
        rule: `${HOSTILE.tool}#0`,
        reason: `Read it.\u202e ${HOSTILE.tool}`,
        requester: '\u2066Ben\u202e',
        principal_proof: 'as_told',
      },
      card: {
        arguments: {
          to: 'pay\u200b@evil.example',
          file: HOSTILE.phase,
          'pay\u200ber': { html: '</pre><img src=x onerror=alert(2)>\u202e\u0007', n: [1, '1', null] },
          letter: `Dear\u{e0041}\u{e0042} Sir,\n${'<b>All your invoices are paid.</b> '.repeat(900)}\nThe end of it.`,
        },
      },
    }),
    question(QUESTIONS.changed, {
      row: { tool_name: 'wire_transfer', rule: 'wire_transfer#0' },
      card: null,
      detail: { changed: true },
    }),
    question(QUESTIONS.others, {
      row: {
        agent: 'billing-ops',
        tool_name: 'close_account',
        rule: 'close_account#0',
        reason: 'Closing an account is for finance.',
        requester: null,
        mine: false,
        principal_proof: null,
        expires_at: at(0.4),
      },
      card: { arguments: {}, eligible: [[{ role: 'finance', from: at(-0.2) }]] },
      detail: {
        may: {
          answer: false,
          deny: false,
          confirms: false,
          ask_again: true,
          why_not: 'it asks members of finance, and you are not in that group',
        },
        before: [],
      },
    }),
    question(QUESTIONS.approved, {
      row: { ...decided, state: 'approved', have: 1, usable_until: at(23) },
      detail: { answers: [answer({ edited: { ...REFUND, amount: 400 }, note: 'Only the damaged part.' })] },
    }),
    question(QUESTIONS.used, {
      row: { ...decided, state: 'used', have: 1, usable_until: at(23) },
      detail: { answers: [answer({ relation: 'self' })] },
    }),
    question(QUESTIONS.denied, {
      row: { ...decided, state: 'denied', cause: 'denied' },
      detail: {
        answers: [answer({ decision: 'deny', note: 'The order was never delivered: ask the carrier first.' })],
      },
    }),
    question(QUESTIONS.expired, {
      row: { ...decided, state: 'expired', cause: 'time', expires_at: at(-2), asked_at: at(-26) },
    }),
    question(QUESTIONS.erased, {
      row: { ...decided, state: 'withdrawn', cause: 'erased' },
      card: null,
    }),
  ]
  return new Map(details.map((detail) => [detail.question.question_id, detail]))
}

const REFUND: JsonObject = {
  order_id: 'A-1003',
  amount: 900,
  currency: 'EUR',
  items: ['A-1003/1', 'A-1003/2'],
  reason_code: 'damaged',
}

const rule = (given: Partial<QuestionStats['rules'][number]>): QuestionStats['rules'][number] => ({
  rule: 'issue_refund#0',
  tool_name: 'issue_refund',
  agent: 'support',
  reason: 'Refunds above 500 are for a supervisor.',
  sessions: 240,
  asked: 41,
  approved: 29,
  denied: 6,
  expired: 3,
  approved_share: 29 / 35,
  median_seconds: 312,
  withdrawn: 3,
  tires: false,
  ...given,
})

export const questionStats = (now: Date): QuestionStats => ({
  since: new Date(now.getTime() - 30 * 24 * HOUR_MS).toISOString(),
  waiting: 8,
  undelivered: 1,
  rules: [
    rule({
      rule: 'send_mail#0',
      tool_name: 'send_mail',
      reason: 'Mail to new addresses.',
      asked: 214,
      approved: 209,
      denied: 1,
      expired: 2,
      approved_share: 209 / 210,
      median_seconds: 6,
      withdrawn: 2,
      tires: true,
    }),
    rule({}),
    rule({
      rule: 'close_account#0',
      tool_name: 'close_account',
      agent: null,
      sessions: 3,
      asked: 1,
      approved: 0,
      denied: 0,
      expired: 0,
      approved_share: null,
      median_seconds: null,
      withdrawn: 0,
    }),
  ],
  people: [
    { user_id: 'usr_1', name: 'Ben Ode', answers: 231, approved_share: 0.982, median_seconds: 7 },
    { user_id: 'usr_2', name: null, answers: 14, approved_share: 0.64, median_seconds: 5_600 },
  ],
})
