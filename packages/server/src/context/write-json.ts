import { stringifyInSteps } from '@countersign/engine'
import type { JsonValue } from '@countersign/protocol'
import { inOwedTurns } from './work.js'
import { WrittenReply } from './written-reply.js'

/**
 * A value as JSON. A large one is written in turns with the work of other tenants: it may hold megabytes that a tenant sent
 * or stored, and some numbers take ten microseconds each.
 */
export const writeJson = async (owner: string, value: unknown): Promise<string> =>
  isSmall(value) ? JSON.stringify(value) : inOwedTurns(owner, stringifyInSteps(value as JsonValue))

export const writeReply = async (owner: string, reply: unknown): Promise<string> =>
  reply instanceof WrittenReply ? reply.text : writeJson(owner, reply)

/** About what is written within a millisecond, whatever it is. */
const SMALL = { values: 512, characters: 32_768 } as const

/** Looks at no more of it than a small one has. */
function isSmall(value: unknown): boolean {
  let values: number = SMALL.values
  let characters: number = SMALL.characters
  const open = [value]
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next === 'string') characters -= next.length
    const parts = Array.isArray(next) ? next : typeof next === 'object' && next !== null ? Object.values(next) : []
    values -= parts.length
    if (values < 0 || characters < 0) return false
    open.push(...parts)
  }
  return true
}
