import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createPasswords } from '../../../packages/server/src/base/crypto/passwords.js'
import { proves } from '../../support/proves.js'
import { createMailbox } from '../../support/runtime/mailbox.js'
import { Person } from '../../support/runtime/person.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const mailbox = createMailbox()
const { runtime } = await withRuntime({ config: { COUNTERSIGN_TRUSTED_PROXIES: '127.0.0.1' }, mailer: mailbox })

/** A browser of its own, at that address. */
const personAt = (address: string, email?: string) => {
  const send: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    request.headers.set('x-forwarded-for', address)
    return runtime.fetch(request)
  }
  return new Person(send, email === undefined ? {} : { email })
}

/** The account takes a hundred wrong tries from everybody, and one more in nine seconds: enough for a slow machine. */
async function guess(email: string): Promise<void> {
  for (let at = 1; at <= 12; at++) {
    const stranger = personAt(`203.0.${at}.7`, email)
    for (let round = 0; round < 10; round++) await stranger.login('a wrong password')
  }
}

proves(
  'limit.fair.known-browser',
  'wrong tries of strangers do not lock out a browser that has signed in before',
  async () => {
    const owner = personAt('198.51.100.1')
    expect((await owner.signup()).status).toBe(201)
    await owner.call('logout')
    await guess(owner.email)
    const stranger = personAt('203.0.113.9', owner.email)
    expect((await stranger.login('a wrong password')).status).toBe(429)
    expect((await owner.login()).status).toBe(200)
    // Also long after its sign-in has ended, and from another address.
    const traveller = personAt('192.0.2.44', owner.email)
    for (const [name, value] of owner.cookies) if (name.endsWith('_device')) traveller.cookies.set(name, value)
    expect([...traveller.cookies.keys()]).toEqual(['countersign_device'])
    expect((await traveller.login(owner.password)).status).toBe(200)
  },
)

test('a known browser has tries of its own, and not more of them', async () => {
  const owner = personAt('198.51.101.1')
  await owner.signup()
  const statuses: number[] = []
  for (let round = 0; round < 12; round++) statuses.push((await owner.login('a wrong password')).status)
  expect(statuses).toEqual([...Array<number>(10).fill(401), 429, 429])
})

test('a device cookie of one account is nothing to another', async () => {
  const owner = personAt('198.51.102.1')
  await owner.signup()
  const thief = personAt('198.51.102.2')
  await thief.signup()
  await guess(owner.email)
  const posing = personAt('198.51.102.3', owner.email)
  for (const [name, value] of thief.cookies) posing.cookies.set(name, value)
  expect((await posing.login('a wrong password')).status).toBe(429)
})

test('whoever resets the password may sign in, whatever strangers try meanwhile', async () => {
  const owner = personAt('198.51.103.1')
  await owner.signup()
  await guess(owner.email)
  const elsewhere = personAt('198.51.103.2', owner.email)
  expect((await elsewhere.login(owner.password)).status).toBe(429)
  await elsewhere.call('forgotPassword', { body: { email: owner.email } })
  await runtime.instances[0].parts.accounts.mail.idle()
  const body = { token: mailbox.tokenFor(owner.email), password: 'a brand new password' }
  expect((await elsewhere.call('resetPassword', { body })).status).toBe(200)
  expect((await elsewhere.login('a brand new password')).status).toBe(200)
})

proves('limit.fair.sign-in', 'a flood of sign-ins from one network does not shut it for the others', async () => {
  const { accounts } = runtime.instances[0].parts
  const { passwords } = accounts
  const owner = personAt('198.51.104.1')
  await owner.signup()
  const visitor = personAt('192.0.2.1', owner.email)
  let answered = 0
  // As slow as in production, so that the flood waits.
  Object.assign(accounts, { passwords: createPasswords({ cost: 15 }) })
  const flood = Array.from({ length: 40 }, async (_, at) => {
    const stranger = personAt(`203.0.200.${at}`, `nobody-${at}@example.test`)
    const { status } = await stranger.login('a wrong password')
    if (status === 401) answered += 1
    return status
  })
  // The flood is there once some of it has been refused, or the queue is full.
  await Promise.race(flood)
  expect((await visitor.login(owner.password)).status).toBe(200)
  expect((await owner.login()).status).toBe(200)
  expect(answered).toBeLessThan(10)
  const statuses = await Promise.all(flood)
  Object.assign(accounts, { passwords })
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(20)
})

test('a sign-in costs the same whatever hash the account has, and where there is no account', async () => {
  const spent: number[] = []
  let work = 0
  const derive = async (_password: string, _salt: Buffer, cost: number) => {
    work += 2 ** cost
    return randomBytes(32)
  }
  const hashes = await Promise.all([10, 12, 14].map((cost) => createPasswords({ cost }).hash('correct horse battery')))
  const passwords = createPasswords({ cost: 12, highestStored: Promise.resolve(14), derive })
  for (const stored of [...hashes, null]) {
    work = 0
    expect(await passwords.verify('a wrong password', stored)).toBe(false)
    spent.push(work)
  }
  expect(spent).toEqual([2 ** 14, 2 ** 14, 2 ** 14, 2 ** 14])
})
