import { expect, test } from 'vitest'
import { createTerminal } from './create-terminal.js'

function written(line: string): string {
  let text = ''
  const terminal = createTerminal({ write: (part) => (text += part) }, { write: (part) => (text += part) })
  terminal.print(line)
  const printed = text
  text = ''
  terminal.note(line)
  expect(text).toBe(printed)
  return printed
}

test('nothing that is printed controls the terminal', () => {
  expect(written('blocker\n\u001b[1A\u001b[2Kpay\u0007 \u009b2J \u202egnp\r')).toBe(
    'blocker\n\\u001b[1A\\u001b[2Kpay\\u0007 \\u009b2J \\u202egnp\\u000d\n',
  )
})

test('other text is printed as it is, and JSON is the same JSON', () => {
  expect(written('zahl\t5 €\n😀 weiter')).toBe('zahl\t5 €\n😀 weiter\n')
  const value = { tool: 'pay\u0085\u202e\u001b', 'a\u200b': ['\\u202e'] }
  expect(JSON.parse(written(JSON.stringify(value)))).toEqual(value)
})
