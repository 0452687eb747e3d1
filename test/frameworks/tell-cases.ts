import { expect, type TestOptions } from 'vitest'
import { exportOf } from '../support/runtime/ledger-export.js'
import type { Runtime } from '../support/runtime/runtime.js'
import { CASES } from './cases.js'
import { type Case, type Face, ledgerLines, type Story } from './story.js'

type Prove = (name: string, tell: () => Promise<void>, options: TestOptions) => void

/** Tells every case through one face, against the real server. `prove` says which requirement that proves. */
export function tellCases(face: Face, runtime: Runtime, prove: Prove): void {
  for (const item of CASES) {
    const lack = face.lacks[item.id]
    const name = `${face.name}: ${item.name}${lack === undefined ? '' : ` (${lack})`}`
    const tell = async () => {
      const { story, ran } = storyOf(item, runtime)
      const { sessionId, requests, error } = await face.tell(story)
      const { expected } = item
      if (item.serverIsDown) expect(String(error)).toMatch(/server|unavailable|reach/i)
      else expect(error).toBeNull()
      expect(ran.sort()).toEqual([...expected.ran].sort())
      expect(requests.map(({ offered }) => [...offered].sort())).toEqual(expected.offered)
      const results = Object.assign({}, ...requests.map((request) => request.results))
      for (const [id, words] of Object.entries(expected.told)) expect(results[id]).toContain(words)
      expect(seenTooEarly(item, story.log)).toEqual([])
      if (item.serverIsDown) return
      expect(ledgerLines((await exportOf(runtime.api(), sessionId)).events)).toEqual(expected.ledger)
    }
    prove(name, tell, { skip: lack !== undefined })
  }
}

function storyOf(item: Case, runtime: Runtime): { story: Story; ran: string[] } {
  const ran: string[] = []
  const log: string[] = []
  const tool = (name: string) => (args: object) => {
    ran.push(`${name} ${JSON.stringify(args)}`)
    if (item.failing?.includes(name)) throw new Error(`${name} is broken`)
    return { done: name }
  }
  const send: typeof fetch = async (input, init) => {
    if (item.serverIsDown) throw new TypeError('fetch failed')
    const answer = await runtime.fetch(input, init)
    if (String(input instanceof Request ? input.url : input).endsWith('/proposals')) log.push('judged')
    return answer
  }
  const story: Story = {
    turns: item.turns,
    tools: { look: tool('look'), pay: tool('pay') },
    stream: item.stream ?? false,
    changed: item.changed ?? {},
    log,
    options: {
      contracts: item.contracts,
      apiKey: runtime.key,
      fetch: send,
      agent: 'frameworks',
      onCheckpoint: ({ checkpoint_id }) => ({
        checkpoint_id,
        decision: 'approve',
        decided_by: 'ann',
        decided_at: new Date().toISOString(),
      }),
      ...item.options,
    },
  }
  return { story, ran }
}

/** The calls of which a part was shown before anything was judged. */
const seenTooEarly = ({ stream }: Case, log: readonly string[]): string[] =>
  stream ? log.slice(0, log.indexOf('judged')).filter((line) => line.startsWith('saw')) : []
