import { expect, test } from 'vitest'
import { readConfig } from '../base/config.js'
import { welcome } from './welcome.js'

const demo = { email: 'demo@countersign.local', url: 'http://127.0.0.1:4319', password: 'secret', api_key: 'csk_x' }
const linesFor = (flags: Record<string, string>, url = 'http://127.0.0.1:4319') =>
  welcome({ url, config: readConfig({}, flags), demo, byNpmStart: true }).join('\n')

test('the next steps find the database that this service uses', () => {
  expect(linesFor({})).toMatch(/npm run demo +an agent serves/)
  expect(linesFor({})).toMatch(/tenant create NAME +your own tenant.*in this folder/)
  expect(linesFor({})).toMatch(/npx countersign gateway +govern an agent in any language/)
  const elsewhere = linesFor({ 'data-folder': '/srv/data' })
  expect(elsewhere).toContain('npm run demo -- --data-folder /srv/data')
  expect(elsewhere).toContain('npx countersign tenant create NAME --data-folder /srv/data')
  const shared = linesFor({ 'database-url': 'postgres://app:pass@db/app' })
  expect(shared).toMatch(/tenant create NAME +your own tenant.*with the same DATABASE_URL/)
  expect(shared).not.toContain('pass@')
})

test('at another address than the default, programs need COUNTERSIGN_API_URL', () => {
  expect(linesFor({})).not.toContain('COUNTERSIGN_API_URL')
  expect(linesFor({}, 'http://127.0.0.1:4400')).toContain('export COUNTERSIGN_API_URL=http://127.0.0.1:4400')
})
