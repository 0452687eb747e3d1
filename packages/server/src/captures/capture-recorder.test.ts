import type { CaptureItem, JsonValue } from '@countersign/protocol'
import { describe, expect, test } from 'vitest'
import { createLog } from '../base/log.js'
import type { Database } from '../postgres/database.js'
import { createCaptureRecorder } from './capture-recorder.js'
import { createWaitingBytes } from './waiting-bytes.js'

const itemOf = (capture_level: CaptureItem['capture_level'], messages: JsonValue[]): CaptureItem => ({
  capture_id: `prop_${captures++}`,
  schema_version: '1.0',
  capture_level,
  agent: 'desk',
  conversation_id: 'sess_1',
  timestamp: '2026-01-01T00:00:00.000Z',
  provider: 'openai',
  model_id: null,
  primary_tool_name: null,
  tool_names: [],
  request: { tools: [], messages },
  response: { tool_calls: [], content: null, finish_reason: null },
  latency_ms: 0,
})
let captures = 0

/** A recorder whose database only looks at what it is told to store. */
function recorded() {
  const stored: string[] = []
  const sql = {
    unsafe: async (_: string, values: readonly unknown[]) => {
      const items = values.find((value) => typeof value === 'string' && value.startsWith('{"capture_id"'))
      if (items !== undefined) stored.push(...(items as string).split('\n'))
      return [{ result: 1 }]
    },
  }
  const database = { single: (_: string, fn: (given: typeof sql) => unknown) => fn(sql) } as unknown as Database
  const waiting = createWaitingBytes(16_000_000)
  const log = createLog({ level: 'silent', write: () => {} })
  const recorder = createCaptureRecorder({ database, random: (length) => Buffer.alloc(length), log }, waiting)
  return { recorder, waiting, stored }
}

describe('captures that wait to be written', () => {
  const MEGABYTE = 'm'.repeat(1_000_000)

  test('are counted with their messages: beyond a quarter for one tenant they are dropped', async () => {
    const { recorder, waiting, stored } = recorded()
    for (let at = 0; at < 12; at++) recorder.note('tenant', itemOf('full', [MEGABYTE]))
    expect(waiting.bytes()).toBeGreaterThan(2_000_000)
    expect(waiting.bytes()).toBeLessThanOrEqual(4_000_000)
    await recorder.close()
    expect(stored).toHaveLength(1)
    expect(waiting.bytes()).toBe(0)
  })

  test.each<[string, JsonValue[]]>([
    ['numbers', Array.from({ length: 100_000 }, (_, at) => at / 7)],
    ['names of members', Array.from({ length: 100 }, (_, at) => ({ [String(at).padEnd(10_000, 'x')]: 1 }))],
    ['empty lists', Array.from({ length: 50_000 }, () => [])],
  ])('count %s', (_, messages) => {
    const { recorder, waiting } = recorded()
    recorder.note('tenant', itemOf('full', messages))
    expect(waiting.bytes()).toBeGreaterThan(1_500_000)
  })

  test.each(['metadata', 'redacted'] as const)('hold nothing that level %s does not allow', async (level) => {
    const { recorder, waiting, stored } = recorded()
    recorder.note('tenant', itemOf(level, [MEGABYTE]))
    expect(waiting.bytes()).toBeLessThan(4_096)
    await recorder.close()
    expect(JSON.parse(stored[0]!).request).toEqual({ tools: [] })
  })

  test('are written as they were noted', async () => {
    const { recorder, stored } = recorded()
    const messages = Array.from({ length: 300_000 }, (_, at) => at / 7)
    recorder.note('tenant', itemOf('full', messages))
    await recorder.flush()
    expect(JSON.parse(stored[0]!).request.messages).toEqual(messages)
  })
})
