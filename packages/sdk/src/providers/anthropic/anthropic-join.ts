import type { JsonObject } from '../../base/json-object.js'
import type { StreamJoin } from '../provider.js'

/** The next answer goes on in the same message: its blocks are numbered after those that have flowed. */
export function joinMessageStreams(): StreamJoin {
  const open = new Set<number>()
  let isFirst = true
  let next = 0
  let offset = 0
  return {
    join: (event) => {
      if (!isFirst && event.type === 'message_start') return []
      if (typeof event.index !== 'number') return [event]
      const index = event.index + offset
      next = Math.max(next, index + 1)
      if (event.type === 'content_block_start') open.add(index)
      if (event.type === 'content_block_stop') open.delete(index)
      return [isFirst ? event : { ...event, index }]
    },
    again: () => {
      isFirst = false
      offset = next
      const ends = [...open].map((index): JsonObject => ({ type: 'content_block_stop', index }))
      open.clear()
      return ends
    },
  }
}
