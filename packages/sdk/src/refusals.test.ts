import { ERRORS } from '@countersign/protocol'
import { expect, test } from 'vitest'
import { errorOf } from './refusals.js'
import { ServiceRefusal } from './transport.js'

const refusal = (code: keyof typeof ERRORS) =>
  new ServiceRefusal({ type: `urn:countersign:problem:${code}`, code, ...ERRORS[code] })

test.each([
  ['EMAIL_NOT_VERIFIED', /403 .*nothing was allowed\. Follow the link/],
  ['UNAUTHENTICATED', /401 .*nothing was allowed\. Check apiKey or COUNTERSIGN_API_KEY/],
  ['NOT_FOUND', /404 .*nothing was allowed\. Check runtimeUrl or COUNTERSIGN_API_URL/],
  ['INTERNAL', /500 .*nothing was allowed$/],
] as const)('%s says what to look at', (code, words) => {
  expect(errorOf(refusal(code))).toMatchObject({
    name: 'ReplayUnavailableError',
    message: expect.stringMatching(words),
  })
})

test('a session that another program holds says how to get one', () => {
  expect(errorOf(refusal('LEASE_ACTIVE'))).toMatchObject({
    name: 'ReplayContractError',
    message: expect.stringMatching(/409 .*nothing was allowed\. Another program has this sessionId.*takeover: true/),
  })
})
