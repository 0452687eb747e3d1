import type Anthropic from '@anthropic-ai/sdk'
import type OpenAI from 'openai'
import { describe, expect } from 'vitest'
import { type ReplayOptions, replay } from '../../../packages/sdk/src/index.js'
import { proves } from '../../support/proves.js'
import { withAgentAndRuntime } from '../../support/runtime/with-runtime.js'

/** Tools that the provider runs by itself cannot be stopped; they count for everything that narrows. */
const { agent, runtime } = await withAgentAndRuntime()

const MODES: [string, () => ReplayOptions][] = [
  ['govern', () => ({ apiKey: runtime.key, fetch: runtime.fetch, tools: { transfer: () => null } })],
  ['protect', () => ({})],
]

const SEARCHES = [
  'web_search',
  'web_search_preview',
  'web_search_20250305',
  'code_execution_20250825',
  'mcp',
  'mcp_toolset',
]
const contracts = [
  ...SEARCHES.map((tool) => ({ tool, side_effect: 'egress_read' as const, labels: { adds: ['untrusted_input'] } })),
  { tool: 'transfer', side_effect: 'write' as const, labels: { deny_when: ['untrusted_input'] } },
]
const transferFor = {
  openai: { type: 'function', name: 'transfer', parameters: {}, strict: false },
  anthropic: { name: 'transfer', input_schema: { type: 'object' } },
} as const

const response = (...output: object[]) => ({
  response: { id: 'resp_1', object: 'response', status: 'completed', model: 'gpt-5', output, usage: null },
})
const said = { type: 'message', id: 'm1', role: 'assistant', content: [{ type: 'output_text', text: 'found' }] }
const transferCall = { type: 'function_call', id: 'f1', call_id: 'c1', name: 'transfer', arguments: '{}' }

describe.each(MODES)('%s', (_, where) => {
  const start = (given: ReplayOptions = {}) => replay(agent.openai(), { contracts, ...where(), ...given })
  const ask = (session: ReturnType<typeof start>, tools: object[]) =>
    session.client.responses.create({
      model: 'gpt-5',
      input: 'go',
      tools: [...tools, transferFor.openai] as OpenAI.Responses.Tool[],
    })

  const items: [string, object, object][] = [
    ['a search', { type: 'web_search_call', id: 'w1', status: 'completed', action: {} }, { type: 'web_search' }],
    ['a search of a version', { type: 'web_search_call', id: 'w1' }, { type: 'web_search_preview' }],
    [
      'a hosted MCP server',
      { type: 'mcp_call', id: 'm1', name: 'read', server_label: 'x', arguments: '{}' },
      { type: 'mcp', server_label: 'x', server_url: 'http://127.0.0.1' },
    ],
  ]
  for (const [name, item, tool] of items) {
    proves(
      ['guarantee.provider-run', 'label.gates-narrow', 'block.forbidden-tool'],
      `${name} of OpenAI adds its labels`,
      async () => {
        const session = start({ gate: 'strip_blocked' })
        agent.provider.enqueue(response(item, said), response(transferCall))
        await ask(session, [tool])
        const offered = await ask(session, [tool])
        expect(offered.output.some(({ type }) => type === 'function_call')).toBe(false)
        expect(session.getLastNarrowing()?.removed).toMatchObject([{ tool: 'transfer', reason: 'label_gate' }])
        await session.restore()
      },
    )
  }

  proves('block.forbidden-tool', 'a call in the same response as a search meets its label', async () => {
    const session = start()
    agent.provider.enqueue(response({ type: 'web_search_call', id: 'w1' }, transferCall))
    await expect(ask(session, [{ type: 'web_search' }])).rejects.toMatchObject({
      decision: { blocked: [{ tool_name: 'transfer', reason: 'forbidden_tool' }] },
    })
    await session.restore()
  })

  const blocks: [string, object, object][] = [
    [
      'a search',
      { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'x' } },
      { type: 'web_search_20250305', name: 'web_search' },
    ],
    [
      'code in a container',
      { type: 'server_tool_use', id: 's1', name: 'bash_code_execution', input: {} },
      { type: 'code_execution_20250825', name: 'code_execution' },
    ],
  ]
  for (const [name, block, tool] of blocks) {
    proves('label.gates-narrow', `${name} of Anthropic adds its labels`, async () => {
      const session = replay(agent.anthropic(), { contracts, ...where() })
      const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude', usage: null }
      const content = [block, { type: 'text', text: 'found', citations: null }]
      agent.provider.enqueue({ response: { ...message, content, stop_reason: 'end_turn' } }, { text: 'done' })
      const next = () =>
        session.client.messages.create({
          model: 'claude',
          max_tokens: 10,
          messages: [{ role: 'user', content: 'go' }],
          tools: [tool, transferFor.anthropic] as Anthropic.ToolUnion[],
        })
      await next()
      await next()
      expect(session.getLastNarrowing()?.removed).toMatchObject([{ tool: 'transfer', reason: 'label_gate' }])
      await session.restore()
    })
  }

  proves(
    ['guarantee.provider-run', 'block.session-limit-exceeded', 'block.aggregate-limit-exceeded', 'block.loop-detected'],
    'what the provider ran uses up counts, sums and the patience with loops',
    async () => {
      const bounded = [
        {
          tool: 'mcp',
          side_effect: 'write' as const,
          aggregates: [{ name: 'spent', path: '$.amount', function: 'sum' as const, lte: 1_000 }],
        },
        {
          tool: 'transfer',
          side_effect: 'write' as const,
          aggregates: [{ name: 'spent', path: '$.amount', function: 'sum' as const, lte: 100 }],
        },
      ]
      const session = start({ contracts: bounded })
      const run = { type: 'mcp_call', id: 'm1', name: 'pay', server_label: 'x', arguments: '{"amount":90}' }
      agent.provider.enqueue(response(run, said), response({ ...transferCall, arguments: '{"amount":20}' }))
      const tool = { type: 'mcp', server_label: 'x', server_url: 'http://127.0.0.1' }
      await ask(session, [tool])
      await expect(ask(session, [tool])).rejects.toMatchObject({
        decision: { blocked: [{ reason: 'aggregate_limit_exceeded' }] },
      })
      await session.restore()
    },
  )

  proves(
    ['guarantee.provider-run', 'turn.proposal.no-advance', 'block.precondition-not-met'],
    'what the provider ran opens nothing by itself',
    async () => {
      const session = start({
        contracts: [
          { tool: 'web_search', side_effect: 'egress_read' },
          { tool: 'transfer', side_effect: 'write', preconditions: [{ requires_prior_tool: 'web_search' }] },
        ],
      })
      agent.provider.enqueue(response({ type: 'web_search_call', id: 'w1' }, transferCall))
      await expect(ask(session, [{ type: 'web_search' }])).rejects.toThrow('transfer')
      expect(session.getState()).toMatchObject({ stateVersion: 0, satisfiedPreconditions: {} })
      await session.restore()
    },
  )

  proves('label.gates-narrow', 'a search in a stream counts, also when the program leaves the stream', async () => {
    const session = start()
    const item = { type: 'web_search_call', id: 'w1', status: 'completed', action: { type: 'search', query: 'x' } }
    const begun = { id: 'resp_1', object: 'response', status: 'in_progress', model: 'gpt-5', output: [] }
    agent.provider.enqueue(
      {
        events: [
          { type: 'response.created', sequence_number: 0, response: begun },
          { type: 'response.output_item.added', sequence_number: 1, output_index: 0, item },
          { type: 'response.output_item.done', sequence_number: 2, output_index: 0, item },
          {
            type: 'response.output_text.delta',
            sequence_number: 3,
            output_index: 1,
            content_index: 0,
            item_id: 'm1',
            delta: 'f',
          },
          {
            type: 'response.completed',
            sequence_number: 4,
            response: { ...begun, status: 'completed', output: [item, said] },
          },
        ],
      },
      response(said),
    )
    const tools = [{ type: 'web_search' }, transferFor.openai] as OpenAI.Responses.Tool[]
    const stream = await session.client.responses.create({ model: 'gpt-5', input: 'go', tools, stream: true })
    for await (const event of stream) if (event.type === 'response.output_item.done') break
    await ask(session, [{ type: 'web_search' }])
    expect(session.getLastNarrowing()?.removed).toMatchObject([{ tool: 'transfer', reason: 'label_gate' }])
    await session.restore()
  })
})

proves(
  ['guarantee.provider-run', 'turn.durable-state', 'label.by-endpoint'],
  'what the provider ran stands in the ledger',
  async () => {
    const session = replay(agent.openai(), { contracts, ...MODES[0]?.[1]() })
    agent.provider.enqueue(response({ type: 'web_search_call', id: 'w1', action: { query: 'x' } }, said))
    await session.client.responses.create({ model: 'gpt-5', input: 'go', tools: [{ type: 'web_search' }] })
    const { body } = await runtime.api().exportEvents({ params: { session_id: session.sessionId } })
    expect(body.events.find(({ type }) => type === 'proposal')?.body).toMatchObject({
      provider_calls: [{ call_id: 'w1', tool_name: 'web_search', adds_labels: ['untrusted_input'] }],
    })
    expect(
      (await runtime.api().loadSession({ params: { session_id: session.sessionId } })).body.session.labels,
    ).toEqual(['untrusted_input'])
    await session.restore()
  },
)
