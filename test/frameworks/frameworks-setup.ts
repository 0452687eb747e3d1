import { frameworksAreInstalled, installFrameworks } from '../../scripts/frameworks.mjs'

/** So that one file of these tests can be run without npm test. */
export function setup(): void {
  if (!frameworksAreInstalled() && !installFrameworks()) {
    throw new Error('the frameworks could not be installed: npm names the cause above')
  }
}
