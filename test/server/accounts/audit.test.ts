import { expect, test } from 'vitest'
import { Person } from '../../support/runtime/person.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime } = await withRuntime({ config: { COUNTERSIGN_TRUSTED_PROXIES: '127.0.0.1' } })

const fromAfar: typeof fetch = async (input, init) => {
  const request = new Request(input, init)
  request.headers.set('x-forwarded-for', '198.51.100.7')
  return runtime.fetch(request)
}

test('the audit trail says who did what, from where', async () => {
  const ada = new Person(fromAfar)
  await ada.signup()
  await ada.call('createKey', { body: { name: 'ci' } })
  await ada.login('wrong wrong wrong')
  const { body } = await ada.call('listAudit', { query: { limit: '2' } })
  expect(body.items).toMatchObject([
    { action: 'login_failed' },
    { action: 'key_created', actor: ada.email, detail: 'ci' },
  ])
  expect(body.items[0]?.ip).toBe('198.51.100.7')
  const older = await ada.call('listAudit', { query: { limit: '2', cursor: body.next ?? '' } })
  expect(older.body.items.map(({ action }) => action)).toEqual(['signup'])
})
