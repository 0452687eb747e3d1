import { expect } from 'vitest'
import { proves } from '../../../../../test/support/proves.js'
import { firstWorkflowProblem } from './workflow-problems.js'

proves('limit.fair.definitions', 'the tools of a role are read once, however many handoffs lead to it', () => {
  let reads = 0
  const counted = (tools: string[]) =>
    new Proxy(tools, {
      get: (list, at) => {
        if (at === Symbol.iterator) reads += 1
        return Reflect.get(list, at)
      },
    })
  const names = Array.from({ length: 16 }, (_, at) => `r${at}`)
  const tools = Array.from({ length: 100 }, (_, at) => `t${at}`)
  const roles = Object.fromEntries(names.map((name) => [name, { root: true, tools: counted(tools) }]))
  const handoffs = names.flatMap((from) => names.map((to) => ({ from, to, tools: ['t1'] })))
  expect(firstWorkflowProblem({ roles, handoffs })).toBeNull()
  expect(reads).toBe(names.length)
})
