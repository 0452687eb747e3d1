import { randomUUID } from 'node:crypto'
import type { CaptureItem } from '@countersign/protocol'
import { capturesOf } from './captures.js'

const CALLS = 7
/**
 * One request's worth of the largest captures that are accepted, about 800 kB: lists of many thousand different words, as
 * the arguments of each call.
 */
export function hostileBody(agent: string): { captures: CaptureItem[]; calls: number } {
  const captures = Array.from({ length: 1 }, (): CaptureItem => {
    const [item] = capturesOf(agent, 'write them all down', [{ name: 'write_down', args: {} }])
    if (item === undefined) throw new Error('no capture')
    const words = Array.from({ length: 8_000 }, () => randomUUID().slice(0, 8))
    const tool_calls = Array.from({ length: CALLS }, (_, at) => ({
      id: `call_${at}`,
      name: 'write_down',
      arguments: JSON.stringify({ words: words.map((word) => `${word}${at}`) }),
    }))
    return { ...item, response: { ...item.response, tool_calls } }
  })
  return { captures, calls: CALLS }
}
