import { expect, test } from 'vitest'
import { nodeVersionProblem } from './node-version.js'

test.each(['20.20.2', '20.21.0', '22.22.2', '24.14.1', '24.15.0', '25.8.2', '26.0.0'])('Node %s is safe', (version) => {
  expect(nodeVersionProblem(version)).toBeNull()
})

test.each(['20.19.0', '20.20.1', '21.7.3', '22.22.1', '23.11.0', '24.13.9', '24.14.0', '25.8.1'])(
  'Node %s is not, and which releases are is said',
  (version) => {
    expect(nodeVersionProblem(version)).toMatch(
      new RegExp(`^Node.js ${version} reads .* use one of the releases 20.20.2, 22.22.2, 24.14.1, 25.8.2`),
    )
  },
)
