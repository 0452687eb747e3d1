import type { Facts } from './facts.js'

export const versioning = {
  'version.v1-prefix': 'Runtime, governance and capture routes lie under /api/v1/',
  'version.account-unversioned': 'Account routes lie under /api/auth/ without a version segment',
} satisfies Facts
