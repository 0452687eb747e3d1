import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { root } from '../support/files/tracked-files.js'
import { runExample } from '../support/process/example.js'
import { withRuntime } from '../support/runtime/with-runtime.js'

const { runtime } = await withRuntime()

/** The words of the picture in the README, as one text without spaces: its lines are broken elsewhere. */
function recorded(): string {
  const svg = readFileSync(`${root}docs/demo.svg`, 'utf8')
  const texts = [...svg.matchAll(/<text[^>]*>(.*?)<\/text>/g)].map(([, text = '']) => text.replaceAll(/<[^>]*>/g, ''))
  const entities = { '&#160;': ' ', '&lt;': '<', '&amp;': '&' }
  const plain = Object.entries(entities).reduce((text, [entity, sign]) => text.replaceAll(entity, sign), texts.join(''))
  return plain.replaceAll(/\s/g, '')
}

test('the demo serves three customers, shows each step, and its sessions are on the server', async () => {
  const apiUrl = await runtime.instances[0].listen()
  const output = await runExample('demo/main.ts', { apiUrl, apiKey: runtime.key })
  const steps = output.split('\n').map((line) => line.trim().split(/\s+/)[0])
  expect(steps.filter((word) => word === 'allowed')).toHaveLength(7)
  expect(steps.filter((word) => word === 'receipt')).toHaveLength(7)
  expect(steps.filter((word) => word === 'blocked')).toHaveLength(2)
  expect(output).toContain('refunds above 500 are for a supervisor')
  expect(output).toContain('in the middle of the text at $.text of the result of read_document')
  expect(output).toContain('7 calls ran, 2 were stopped')
  const [story = ''] = output.split('Every step is in the ledger')
  expect(recorded()).toBe(`$ npm run demo${story}`.replaceAll(/\s/g, ''))
  const ids = [...output.matchAll(/\/sessions\/(\S+)/g)].map((match) => match[1] ?? '')
  expect(ids).toHaveLength(3)
  const versions = await Promise.all(
    ids.map(async (session_id) => {
      const { body } = await runtime.api().loadSession({ params: { session_id } })
      return [body.session.state.stateVersion, body.session.state.totalBlockCount]
    }),
  )
  expect(versions).toEqual([
    [2, 0],
    [2, 1],
    [3, 1],
  ])
})
