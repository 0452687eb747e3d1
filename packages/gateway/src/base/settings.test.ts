import { expect, test } from 'vitest'
import { readSettings, SETTINGS, settingsHelp } from './settings.js'

const read = (flags = {}, env = {}, file = '{}') => readSettings({ env, flags, readFile: () => file })

test('the upstreams are the providers themselves unless the configuration names others', () => {
  expect(read()).toMatchObject({
    host: '127.0.0.1',
    port: 4320,
    agent: null,
    mode: null,
    environment: 'production',
    apiKey: null,
    upstreams: { openai: 'https://api.openai.com', anthropic: 'https://api.anthropic.com' },
  })
  expect(read({ upstream: 'openai=http://127.0.0.1:9/v1/' }).upstreams).toEqual({
    openai: 'http://127.0.0.1:9',
    anthropic: 'https://api.anthropic.com',
  })
})

test('a flag wins over a variable, which wins over the file', () => {
  const file = '{"port": 1, "mode": "shadow", "upstreams": {"anthropic": "http://127.0.0.1:7"}}'
  const env = { COUNTERSIGN_GATEWAY_PORT: '2', COUNTERSIGN_GATEWAY_CONFIG: 'gateway.json' }
  expect(read({ port: '3' }, env, file)).toMatchObject({ port: 3, mode: 'shadow' })
  expect(read({}, env, file)).toMatchObject({ port: 2 })
  const { port, upstreams } = read({ config: 'gateway.json' }, {}, file)
  expect({ port, upstreams: upstreams.anthropic }).toEqual({ port: 1, upstreams: 'http://127.0.0.1:7' })
})

const WRONG: readonly [string, Record<string, string>, string, RegExp][] = [
  ['a port that is none', { port: '70000' }, '{}', /^--port must be a whole number/],
  ['a mode that is none', { mode: 'loose' }, '{}', /^--mode must be one of observe, shadow, enforce/],
  ['an upstream of an unknown provider', { upstream: 'acme=http://x' }, '{}', /must name openai or anthropic/],
  ['an upstream that is no URL', { upstream: 'openai=nowhere' }, '{}', /must be an http or https URL/],
  ['an upstream with a password', { upstream: 'openai=http://a:s3cret@x' }, '{}', /without user name/],
  ['a file that is no JSON', { config: 'c' }, '{"apiKey": csk_s3cret', /^the settings file c is not JSON$/],
  ['a file with an unknown setting', { config: 'c' }, '{"prot": 1}', /unknown settings: prot/],
  ['a file that names another file', { config: 'c' }, '{"config": "d"}', /unknown settings: config/],
  ['a file that holds no object', { config: 'c' }, '[]', /must hold a JSON object/],
  ['a key of two lines', { config: 'c' }, '{"apiKey": "csk_s3cret\\nx"}', /^apiKey in c must be one line/],
]

test.each(WRONG)('%s is refused, and no secret is repeated', (_name, flags, file, message) => {
  const attempt = () => read(flags, {}, file)
  expect(attempt).toThrow(message)
  expect(attempt).not.toThrow(/s3cret/)
})

test('the help names every setting, and the key has no flag', () => {
  const help = settingsHelp()
  for (const { env } of Object.values(SETTINGS)) expect(help).toContain(env)
  expect(help).not.toContain('--api-key')
})
