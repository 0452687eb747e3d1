import type { AppParts } from '../../../packages/server/src/http/app.js'

const nothing = { note: () => {}, flush: async () => {}, close: async () => {} }

/**
 * Parts for tests that count or lose single statements. The service writes captures and the last use of keys down about a
 * second after its answers: on a slow machine that comes in the midst of what is counted.
 */
export const NOTHING_BESIDE: Pick<AppParts, 'captures' | 'keyUsage'> = { captures: nothing, keyUsage: nothing }
