import { ERRORS } from '@countersign/protocol'
import { expect, test } from 'vitest'
import { errorOf } from './refusals.js'
import { ServiceRefusal } from './transport.js'

const refusal = (code: keyof typeof ERRORS) =>
  new ServiceRefusal({ type: `urn:countersign:problem:${code}`, code, ...ERRORS[code] })

test.each([
  ['EMAIL_NOT_VERIFIED', /403 .*nothing was allowed\. To fix this, open the link/],
  [
    'UNAUTHENTICATED',
    /401 .*nothing was allowed\. To fix this, check the API key \(apiKey, --key or COUNTERSIGN_API_KEY\)/,
  ],
  ['NOT_FOUND', /404 .*nothing was allowed\. To fix this, check the id and the server address \(COUNTERSIGN_API_URL\)/],
  ['INTERNAL', /500 .*nothing was allowed\. To fix this, try again/],
] as const)('%s says what to look at', (code, words) => {
  expect(errorOf(refusal(code))).toMatchObject({
    name: 'ReplayUnavailableError',
    message: expect.stringMatching(words),
  })
})

test('a session that another program holds says how to get one', () => {
  expect(errorOf(refusal('LEASE_ACTIVE'))).toMatchObject({
    name: 'ReplayContractError',
    message: expect.stringMatching(/409 .*nothing was allowed\. To fix this, use another session id; .*takeover: true/),
  })
})
