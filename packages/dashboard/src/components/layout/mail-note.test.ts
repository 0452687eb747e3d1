import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { expect, test } from 'vitest'
import { MailNote } from './mail-note.js'

const noteFor = (mail: 'sent' | 'outbox' | 'terminal', to?: string) =>
  renderToStaticMarkup(createElement(MailNote, to === undefined ? { mail } : { mail, to }))

test('says that an email was sent only where a mail server is configured', () => {
  expect(noteFor('sent', 'ada@example.test')).toMatch(/The link is sent to .*ada@example\.test/)
  for (const mail of ['outbox', 'terminal'] as const) {
    expect(noteFor(mail, 'ada@example.test')).toMatch(/cannot send email, so nothing is sent to .*ada@example\.test/)
    expect(noteFor(mail)).toContain('“outbox”')
  }
  expect(noteFor('outbox')).toContain('the server log names the file')
  expect(noteFor('terminal')).toContain('the terminal where the server was started')
})
