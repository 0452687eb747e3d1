import type { Fact } from './fact.js'

export const versioning = [
  {
    id: 'version.v1-prefix',
    behaviour: 'Runtime, governance and capture routes lie under /api/v1/',
    state: 'missing',
  },
  {
    id: 'version.account-unversioned',
    behaviour: 'Account routes lie under /api/auth/ without a version segment',
    state: 'missing',
  },
] as const satisfies readonly Fact[]
