import { QUOTAS } from '@countersign/protocol'
import { expect, test } from 'vitest'
import { readConfig, SETTINGS, settingsHelp } from './config.js'

const SIGNING_KEY = 'k'.repeat(48)

test('without anything the service listens on 127.0.0.1:4319 with an embedded database', () => {
  expect(readConfig({})).toMatchObject({
    host: '127.0.0.1',
    port: 4319,
    databaseUrl: null,
    mode: 'development',
    quotas: QUOTAS,
  })
})

test('a flag wins over the environment, the environment over the default, and empty counts as unset', () => {
  expect(readConfig({ COUNTERSIGN_PORT: '1000' }, { port: '2000' }).port).toBe(2000)
  expect(readConfig({ COUNTERSIGN_PORT: '1000' }).port).toBe(1000)
  expect(readConfig({ COUNTERSIGN_PORT: '' }).port).toBe(4319)
})

const REFUSED: readonly [string, Record<string, string>, RegExp][] = [
  [
    'a port that is no number',
    { COUNTERSIGN_PORT: '80x' },
    /COUNTERSIGN_PORT: "80x" is not a whole number from 0 to 65535/,
  ],
  ['a port too high', { COUNTERSIGN_PORT: '70000' }, /COUNTERSIGN_PORT/],
  ['an unknown mode', { COUNTERSIGN_MODE: 'prod' }, /"prod" is not one of development, production/],
  ['an address without a scheme', { COUNTERSIGN_PUBLIC_URL: 'example.test' }, /COUNTERSIGN_PUBLIC_URL/],
  ['a database that is none', { DATABASE_URL: 'mysql://u:hunter2@h/db' }, /postgres:/],
  ['hosts without a comma', { DATABASE_URL: 'postgres://u:hunter2@a:5432,b:x/db' }, /host:port/],
  ['a cluster of which any host will do', { DATABASE_URL: 'postgres://a,b/db?target_session_attrs=any' }, /read-write/],
  [
    'a proxy that is no network',
    { COUNTERSIGN_TRUSTED_PROXIES: '10.0.0.0/99' },
    /"10.0.0.0\/99" is not an IP address or network/,
  ],
  ['a short signing key', { COUNTERSIGN_SIGNING_KEYS: 'short' }, /shorter than 32/],
  ['quotas that are no JSON', { COUNTERSIGN_QUOTAS: '{' }, /is not valid JSON/],
  ['a quota nobody knows', { COUNTERSIGN_QUOTAS: '{"gold":{"write":1}}' }, /gold/],
  ['a negative rate', { COUNTERSIGN_QUOTAS: '{"free":{"write":-1}}' }, /write/],
  [
    'production without https',
    { COUNTERSIGN_MODE: 'production', COUNTERSIGN_PUBLIC_URL: 'http://a.test', COUNTERSIGN_SIGNING_KEYS: SIGNING_KEY },
    /https/,
  ],
  ['production without an address', { COUNTERSIGN_MODE: 'production', COUNTERSIGN_SIGNING_KEYS: SIGNING_KEY }, /https/],
  [
    'production without signing keys',
    { COUNTERSIGN_MODE: 'production', COUNTERSIGN_PUBLIC_URL: 'https://a.test' },
    /COUNTERSIGN_SIGNING_KEYS/,
  ],
]

test.each(REFUSED)('%s is refused by name', (_what, env, message) => {
  expect(() => readConfig(env)).toThrow(message)
})

test('a refused address does not repeat its password', () => {
  expect(() => readConfig({ DATABASE_URL: 'mysql://u:hunter2@h/db' })).toThrow(/^(?!.*hunter2)/)
})

test('single numbers of a quota can be changed, the rest stays', () => {
  const { quotas } = readConfig({ COUNTERSIGN_QUOTAS: '{"free":{"write":60}}' })
  expect(quotas.free).toEqual({ ...QUOTAS.free, write: 60 })
  expect(quotas.team).toEqual(QUOTAS.team)
})

test('help names every setting by flag and by variable', () => {
  const help = settingsHelp()
  for (const { flag, env } of Object.values(SETTINGS)) {
    expect(help).toContain(`--${flag} `)
    expect(help).toContain(env)
  }
})
