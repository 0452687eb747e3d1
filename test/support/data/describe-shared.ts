import { describe, test } from 'vitest'
import { SHARED_DATA_MISSING, sharedData } from './shared-data.js'

/** Tests on a file or folder of the recorded data; skipped, and said to be, where it is absent. */
export function describeShared(title: string, name: string, tests: (path: string) => void): void {
  const path = sharedData(name)
  if (path === null) describe(title, () => test.skip(`${name}: ${SHARED_DATA_MISSING}`, () => {}))
  else describe(title, () => tests(path))
}
