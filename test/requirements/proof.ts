import type { Facts } from './facts.js'

/** What can be proven of the past, against whom, and whose clock counts. */
export const proof = {
  'clock.database-deletes': "Everything that deletes or expires goes by the database's clock, whatever the process's says",
  'clock.database-frees': "What a killed session's calls hold comes free by the database's clock",
  'clock.wrong-refuses': 'An instance whose clock is minutes off refuses requests and does no jobs, and says why',
} satisfies Facts
