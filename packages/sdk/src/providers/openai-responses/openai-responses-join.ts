import { isObject, type JsonObject, objects } from '../../base/json-object.js'
import type { StreamJoin } from '../provider.js'

const BEGINNINGS: ReadonlySet<unknown> = new Set(['response.created', 'response.queued', 'response.in_progress'])

/** The next answer goes on in the same stream: its items are numbered after those that have flowed, and end with them. */
export function joinResponseStreams(): StreamJoin {
  const flowed: JsonObject[] = []
  let before: readonly JsonObject[] = []
  let isFirst = true
  let next = 0
  let offset = 0
  let sequence = -1

  const numbered = (event: JsonObject): JsonObject => {
    if (typeof event.sequence_number !== 'number') return event
    sequence += 1
    return { ...event, sequence_number: sequence }
  }

  return {
    join: (event) => {
      if (!isFirst && BEGINNINGS.has(event.type)) return []
      if (event.type === 'response.output_item.done' && isObject(event.item)) flowed.push(event.item)
      const { output_index: at, response } = event
      if (typeof at === 'number') next = Math.max(next, at + offset + 1)
      if (isFirst) {
        if (typeof event.sequence_number === 'number') sequence = event.sequence_number
        return [event]
      }
      if (typeof at === 'number') return [numbered({ ...event, output_index: at + offset })]
      if (!isObject(response)) return [numbered(event)]
      return [numbered({ ...event, response: { ...response, output: [...before, ...objects(response.output)] } })]
    },
    again: () => {
      isFirst = false
      offset = next
      before = [...flowed]
      return []
    },
  }
}
