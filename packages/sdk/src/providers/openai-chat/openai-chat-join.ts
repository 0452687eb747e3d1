import { isObject, type JsonObject, objects, text } from '../../base/json-object.js'
import type { StreamJoin } from '../provider.js'

/** Chunks are deltas, so that those of the next answer can follow; only its text begins anew. */
export function joinChatStreams(): StreamJoin {
  /** The choices of which text has flowed, and then those whose next text must stand apart from it. */
  const said = new Set<unknown>()
  const apart = new Set<unknown>()

  const joinChoice = (choice: JsonObject): JsonObject => {
    const { delta, index } = choice
    const content = isObject(delta) ? text(delta.content) : ''
    if (content === '') return choice
    said.add(index)
    return apart.delete(index) ? { ...choice, delta: { ...(delta as JsonObject), content: `\n\n${content}` } } : choice
  }

  return {
    join: (chunk) => {
      const choices = objects(chunk.choices)
      const joined = choices.map(joinChoice)
      return joined.every((choice, at) => choice === choices[at]) ? [chunk] : [{ ...chunk, choices: joined }]
    },
    again: () => {
      for (const index of said) apart.add(index)
      return []
    },
  }
}
