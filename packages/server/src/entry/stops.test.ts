import { expect, test } from 'vitest'
import { isStop } from './stops.js'

test.each(['killSession', 'killWorkflow', 'stopAgent', 'killSessionByPerson', 'killWorkflowByPerson'])(
  '%s stops',
  (name) => {
    expect(isStop(name)).toBe(true)
  },
)

test.each(['endSession', 'propose', 'submitReceipts', 'loadSession', 'unknown', 'toString'])('%s does not', (name) => {
  expect(isStop(name)).toBe(false)
})
