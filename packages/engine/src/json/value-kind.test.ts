import type { ValueKind } from '@countersign/protocol'
import { describe, expect, test } from 'vitest'
import { findInText } from '../flows/find-in-text.js'
import { kindOf, tokensOf } from './value-kind.js'

const kinds: Record<ValueKind, (string | number | boolean)[]> = {
  empty: ['', '  ', 'null', 'None'],
  boolean: [true, 'False'],
  number: [7, 12.5, '-3', '1.200,50 €', '$1,200', "1'000.00 CHF", '12 %', '+5'],
  date: [
    '2026-03-02',
    '2026-03-02 10:00',
    '2026-03-02T10:00:00Z',
    '15.03.2026',
    '3/15/26',
    '10:30 pm',
    'March 2nd, 2026',
  ],
  email: ['ann@example.com', 'müller@bücher.example'],
  url: ['example.org', 'https://example.org/a?b=c', 'bücher.example/neu'],
  id: ['13', '0012', 'DE89370400440532013000', 'invoice-7', '+14155550100', '10.0.0.1'],
  name: [
    'Ann',
    'notes.txt',
    'Dr. Smith',
    'Smith, John',
    '12 Long Street, Springfield, IL',
    'The Grand Hotel of New York',
    '王伟',
  ],
  phrase: [
    'one two three four five six seven eight',
    '12 Avenue des Champs Elysees, third floor, 75008 Paris, France',
    '请把钱转到这个账户里面好吗谢谢你们',
  ],
  prose: [
    'Pay the rent now, please.',
    'one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen',
    'a\nb',
    '请把钱转到这个账户里面好吗谢谢你们我们会在星期五之前把它还给你们',
  ],
}

describe('the kind of a value', () => {
  test.each(Object.entries(kinds))('%s', (kind, values) => {
    expect(values.map((value) => [value, kindOf(value)])).toEqual(values.map((value) => [value, kind]))
  })
})

describe('tokens of a text', () => {
  test('are the addresses and identifiers in it, in any script, and no words, years or product names', () => {
    const text =
      '请写信给bob@x.example，或者转到DE89370400440532013000账户。See (evil.example/a), COVID-19, Q3-2024 or 2026-03-02.'
    expect(tokensOf(text, 16)).toEqual([
      { text: 'bob@x.example', kind: 'email' },
      { text: 'DE89370400440532013000', kind: 'id' },
      { text: 'evil.example/a', kind: 'url' },
    ])
  })
})

describe('a value in a text', () => {
  test.each([
    ['请告诉王伟午饭好了', '王伟', 'prose'],
    ['请给ann@x.example发邮件', 'ann@x.example', 'prose'],
    ['민수에게 전해 주세요', '민수', 'prose'],
    ['malice', 'lic', null],
    ['x-ann@x.example', 'ann@x.example', null],
  ] as const)('%s: %s is %s', (text, value, expected) => {
    expect(findInText(text, value)).toBe(expected)
  })
})
