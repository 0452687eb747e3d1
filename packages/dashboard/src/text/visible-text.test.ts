import { describe, expect, test } from 'vitest'
import { plainText, visibleText } from './visible-text.js'

describe('text that others wrote', () => {
  test('ordinary text of any script is left alone', () => {
    for (const text of ['issue_refund', 'Grüße, 日本語, مرحبا, 👩‍🚀'.replace('\u200d', ''), '<b>bold</b>', '']) {
      expect(plainText(text)).toBe(text)
    }
  })

  test('characters that turn, hide or break text are named', () => {
    expect(plainText('refund\u202egnp.exe')).toBe('refundU+202Egnp.exe')
    expect(plainText('a\u200bb\u0000c\ufeff')).toBe('aU+200BbU+0000cU+FEFF')
    expect(plainText('line\nline\ttab')).toBe('line\\nline\\ttab')
    expect(plainText('\ud800')).toBe('U+D800')
    expect(plainText('\u{e0041}')).toBe('U+E0041')
    expect(plainText('❤\ufe0f 5\ufe0f')).toBe('❤\ufe0f 5U+FE0F')
  })

  test('lines stay lines where asked', () => {
    expect(visibleText('a\nb\u2066', 'lines')).toEqual([
      { text: 'a\nb', escaped: false },
      { text: 'U+2066', escaped: true },
    ])
  })
})
