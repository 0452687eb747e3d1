import type { Fact } from './fact.js'

export const versioning = [
  {
    id: 'version.v1-prefix',
    behaviour: 'Runtime, governance and capture routes lie under /api/v1/',
    state: 'built',
  },
  {
    id: 'version.account-unversioned',
    behaviour: 'Account routes lie under /api/auth/ without a version segment',
    state: 'built',
  },
] as const satisfies readonly Fact[]
