import { describe, expect } from 'vitest'
import type { Diagnostic } from '../../../packages/sdk/src/index.js'
import { proves } from '../../support/proves.js'
import { calls, results, says } from '../../support/runtime/agent.js'
import { withAgentAndRuntime } from '../../support/runtime/with-runtime.js'

/** Programs read a model's arguments through a schema, which adds defaults, strips keys and converts types. */
const { agent, runtime } = await withAgentAndRuntime()

const judged = { amount: '5', to: { name: 'ann', note: 'hi' }, on: '2026-01-02', tags: ['1'] }

function start() {
  const got: unknown[] = []
  const started = agent.start({
    contracts: { tool: 'pay', side_effect: 'write' },
    tools: { pay: (args) => got.push(args) },
    apiKey: runtime.key,
    fetch: runtime.fetch,
  })
  return { ...started, got }
}

const differences = (diagnostics: readonly Diagnostic[]) =>
  diagnostics.flatMap((event) => (event.type === 'replay_arguments_differ' ? [[event.ran, event.names]] : []))

describe('arguments that a schema has edited', () => {
  const edits: [string, object, string[]][] = [
    ['a default', { ...judged, currency: 'EUR' }, ['currency']],
    ['a nested default', { ...judged, to: { ...judged.to, country: 'de' } }, ['to.country']],
    ['a stripped key', { ...judged, to: { name: 'ann' } }, ['to.note']],
    ['a conversion', { ...judged, amount: 5 }, ['amount']],
    ['a conversion in a list', { ...judged, tags: [1] }, ['tags[0]']],
    ['a date', { ...judged, on: new Date('2026-01-02') }, ['on']],
  ]
  for (const [name, given, names] of edits) {
    proves(
      ['session.tools', 'turn.receipt.argument-hash', 'guarantee.runs-once'],
      `${name}: the call runs by its id with the judged value`,
      async () => {
        const { session, ask, diagnostics, got } = start()
        agent.provider.enqueue(calls(['pay', judged, 'c1']), says('done'))
        const first = await ask(['pay'])
        await session.tools?.pay?.(given, { callId: 'c1' })
        expect(got).toEqual([judged])
        await ask(['pay'], results(first))
        expect(session.getState()).toMatchObject({ stateVersion: 1 })
        expect(differences(diagnostics)).toEqual([[true, names]])
      },
    )
  }
})

describe('arguments that mean something else', () => {
  const others: [string, unknown, string[]][] = [
    ['another amount', { ...judged, amount: 500 }, ['amount']],
    ['another person', { ...judged, to: { ...judged.to, name: 'bob' } }, ['to.name']],
    ['a longer list', { ...judged, tags: ['1', '2'] }, ['tags']],
    ['a truth that was a text', { ...judged, amount: true }, ['amount']],
    ['other keys', { sum: 5 }, ['the arguments as a whole']],
  ]
  for (const [name, given, names] of others) {
    proves('session.tools', `${name}: nothing runs, and the program learns which argument differs`, async () => {
      const { session, ask, diagnostics, got } = start()
      agent.provider.enqueue(calls(['pay', judged, 'c1']), says('done'))
      const first = await ask(['pay'])
      const refused = session.tools?.pay?.(given, { callId: 'c1' })
      await expect(refused).rejects.toThrow(`(changed: ${names[0]}`)
      expect(got).toEqual([])
      expect(differences(diagnostics)).toEqual([[false, names]])
      // A loop writes the error as the result: the call still did not run, and gives its budget back.
      await ask(['pay'], results(first, 'Error'))
      const { body } = await runtime.api().exportEvents({ params: { session_id: session.sessionId } })
      const receipts = body.events.filter(({ type }) => type === 'receipts')
      expect(receipts).toMatchObject([{ body: { receipts: [{ outcome: 'not_executed' }] } }])
    })
  }

  proves('session.tools', 'without an id only equal arguments run the call, and others settle it', async () => {
    const { session, ask, got } = start()
    agent.provider.enqueue(calls(['pay', judged, 'c1']))
    await ask(['pay'])
    await expect(session.tools?.pay?.({ ...judged, currency: 'EUR' })).rejects.toThrow('did not run')
    await expect(session.tools?.pay?.(judged)).rejects.toThrow('no allowed call')
    expect(got).toEqual([])
  })
})
