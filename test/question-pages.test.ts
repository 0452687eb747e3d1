import type { QuestionCard, QuestionDetail } from '@countersign/protocol'
import { expect } from 'vitest'
import { answerChoice, fitsLine, shownCard } from '../packages/dashboard/src/pages/questions/answer-choices.js'
import { sumsOf } from '../packages/dashboard/src/pages/questions/batch-sums.js'
import { changesBetween } from '../packages/dashboard/src/pages/questions/leaf-values.js'
import { plainText } from '../packages/dashboard/src/text/visible-text.js'
import { proves } from './support/proves.js'

const cardOf = (args: Record<string, unknown>, context: { label: string; path: string }[] = []) =>
  ({ arguments: args, rules: [{ rule: 'pay#0', reason: 'large', context }] }) as unknown as QuestionCard
const detail = (state: QuestionDetail['question']['state'], answer = true, deny = false) =>
  ({ question: { state }, card_hash: 'now', may: { answer, deny } }) as unknown as QuestionDetail

proves('people.questions.only-deny', () => {
  const card = cardOf({ amount: 900 })
  expect(shownCard({ card })).toBe(card)
  expect(shownCard({ card, changed: true })).toBe(null)
  expect(shownCard({ card: null })).toBe(null)
  expect(fitsLine({ card })).toBe(true)
  expect(fitsLine({ card, changed: true })).toBe(false)
  expect(fitsLine({ card: cardOf({ text: 'x'.repeat(2_000) }) })).toBe(false)
})

proves('people.questions.read-again', () => {
  expect(answerChoice(detail('waiting'), 'now')).toBe('answer')
  expect(answerChoice(detail('waiting'), 'before')).toBe('read_again')
  expect(answerChoice(detail('waiting', false), 'now')).toBe('refused')
  for (const state of ['approved', 'used', 'denied', 'expired', 'withdrawn'] as const)
    expect([state, answerChoice(detail(state), 'now')]).toEqual([state, 'over'])
})

proves('people.questions.take-back', () => {
  for (const state of ['waiting', 'approved'] as const) {
    expect(answerChoice(detail(state, false, true), 'now')).toBe('deny')
    expect(answerChoice(detail(state, false, true), 'before')).toBe('read_again')
  }
})

proves('people.questions.hidden-characters', () => {
  for (const hidden of [
    '\u200b',
    '\u202e',
    '\u2066',
    '\u00ad',
    '\u034f',
    '\u2800',
    '\uffa0',
    '\ufe01',
    '\u200a',
    '\u{e0041}',
    '\u{e0152}',
  ])
    expect(plainText(`pay${hidden}er`)).toBe(
      `payU+${hidden.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}er`,
    )
  expect(plainText('Grüße, 日本語, مرحبا, ❤\ufe0f')).toBe('Grüße, 日本語, مرحبا, ❤\ufe0f')
})

proves('people.questions.changes', () => {
  const call = { amount: 900, to: { iban: 'NL91', names: ['a', 'b'] }, 'odd key': null, empty: {} }
  const other = { amount: '900', to: { iban: 'NL91', names: ['a'] }, 'odd key': null, empty: [], more: true }
  expect(changesBetween(call, other)).toEqual({
    changes: [
      { path: '$.amount', before: 900, now: '900' },
      { path: '$.empty', before: {}, now: [] },
      { path: '$.more', before: undefined, now: true },
      { path: '$.to.names[1]', before: 'b', now: undefined },
    ],
    same: 3,
  })
  expect(changesBetween(call, call)).toEqual({ changes: [], same: 6 })
})

const LOOK = [
  { label: 'amount', path: '$.amount' },
  { label: 'to', path: '$.to' },
]

proves('people.questions.sums', () => {
  const calls = [
    cardOf({ amount: 0.1, to: 'a', account: 7, currency: 'EUR' }, LOOK),
    cardOf({ amount: 0.2, to: 'b', account: 7, currency: 'EUR' }, LOOK),
    cardOf({ amount: 5, to: 'c', account: 7, currency: 'USD' }, LOOK),
  ]
  expect(Object.fromEntries(sumsOf(calls))).toEqual({ 'amount (EUR)': 0.3, 'amount (USD)': 5 })
  expect(Object.fromEntries(sumsOf([cardOf({ a: 1, b: '2' }), cardOf({ a: 2, c: 3 })]))).toEqual({ a: 3, c: 3 })
  expect(sumsOf([]).size).toBe(0)
})
