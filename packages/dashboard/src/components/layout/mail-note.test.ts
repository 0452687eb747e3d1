import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { expect, test } from 'vitest'
import { MailNote } from './mail-note.js'

const words = (mail: 'sent' | 'outbox' | 'terminal', to?: string) =>
  renderToStaticMarkup(createElement(MailNote, to === undefined ? { mail } : { mail, to }))

test('a mail is said to go out only where a mail server is configured', () => {
  expect(words('sent', 'ada@example.test')).toMatch(/goes to .*ada@example\.test.* by mail/)
  for (const mail of ['outbox', 'terminal'] as const) {
    expect(words(mail, 'ada@example.test')).toMatch(/no mail server, so nothing is sent to .*ada@example\.test/)
    expect(words(mail)).toContain('“outbox”')
  }
  expect(words('outbox')).toContain('its log names the file')
  expect(words('terminal')).toContain('the terminal in which the service was started')
})
