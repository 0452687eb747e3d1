import { expect, test } from 'vitest'
import { ERRORS, fixFor } from './errors.js'

test.each(Object.entries(ERRORS))('%s has a title and a fix that fit into a sentence', (_code, { title, fix }) => {
  expect(title).toMatch(/^[a-z].*[^.]$/)
  expect(fix).toMatch(/^[a-z].*[^.]$/)
})

test('the code decides what to do, and the status where there is no known code', () => {
  expect(fixFor(403, 'FORBIDDEN_ORIGIN')).toBe(ERRORS.FORBIDDEN_ORIGIN.fix)
  expect(fixFor(403)).toBe(ERRORS.EMAIL_NOT_VERIFIED.fix)
  expect(fixFor(429, 'toString')).toBe(ERRORS.RATE_LIMITED.fix)
  expect(fixFor(502)).toBe(null)
})
