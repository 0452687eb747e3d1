import { expect, test } from 'vitest'
import { strayVariables } from './stray-variables.js'

test('a misspelt setting in the environment is reported with the one that was meant', () => {
  const names = ['COUNTERSIGN_PROT', 'COUNTERSIGN_SMTP_URI', 'COUNTERSIGN_DATABASE_URL', 'COUNTERSIGN_PORT', 'PATH']
  const env = Object.fromEntries(names.map((name) => [name, 'x']))
  expect(strayVariables(env)).toEqual([
    'COUNTERSIGN_PROT is set and is no setting: did you mean COUNTERSIGN_PORT?',
    'COUNTERSIGN_SMTP_URI is set and is no setting: did you mean COUNTERSIGN_SMTP_URL?',
    'COUNTERSIGN_DATABASE_URL is set and is no setting: did you mean DATABASE_URL?',
  ])
})

test('variables of the SDK and of others are left alone', () => {
  const names = ['COUNTERSIGN_API_KEY', 'COUNTERSIGN_API_URL', 'COUNTERSIGN_ENVIRONMENT', 'COUNTERSIGN_FOO']
  expect(strayVariables(Object.fromEntries(names.map((name) => [name, 'x'])))).toEqual([])
})
