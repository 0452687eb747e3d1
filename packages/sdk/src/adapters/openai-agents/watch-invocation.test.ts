import { expect } from 'vitest'
import { proves } from '../../../../../test/support/proves.js'
import { openSession } from '../../session/open-session.js'
import type { FunctionTool, InvokeDetails } from './agents-types.js'
import { governTool } from './govern-tool.js'

proves('face.openai-agents.versions', async () => {
  const contracts = [{ tool: 'look', side_effect: 'read' as const }]
  const session = openSession({ contracts, tools: { look: async () => 'unused' }, diagnostics: () => {} })
  const turn = await session.prepare({ model: 'm', tools: ['look'] })
  await turn.propose({ calls: [{ id: 'c1', name: 'look', arguments: {} }] })
  let ran = 0
  const parsed = Symbol('openai.agents.functionToolParsedInputCallback')
  const policy = Symbol('functionToolTraceIncludeSensitiveData')
  const tool: FunctionTool = {
    type: 'function',
    name: 'look',
    timeoutBehavior: 'error_as_result',
    invoke(_context, _input, details = {}) {
      ran += 1
      const tellParsed = Reflect.get(details, parsed) as ((input: unknown) => void) | undefined
      tellParsed?.({})
      return 'seen'
    },
  }
  const governed = governTool(tool, { session: () => session, asked: new Set(), approver: 'user' } as never)
  const invoke = (details: InvokeDetails) => governed.invoke(null, '{}', details)

  const toolCall = { callId: 'c1' }
  for (const half of [{ toolCall }, { toolCall, [parsed]: undefined }, { toolCall, [policy]: true }]) {
    await expect(invoke(half)).rejects.toThrow(/look did not run: .*supports @openai\/agents 0\.19 and 0\.20/s)
  }
  expect(ran).toBe(0)
  expect(session.verdictOf('c1')).toMatchObject({ verdict: 'allow' })

  expect(await invoke({ toolCall, [parsed]: undefined, [policy]: true } as InvokeDetails)).toBe('seen')
  expect(ran).toBe(1)
  await session.close()
})
