import { groupRequests } from '../flows/request-words.js'
import { countOf, SKETCH_CAPACITY, type Sketch } from './sketch.js'

/** A request as sketches store it, and which words it has. */
export type RequestWords = [request: string, words: string]

/** Requests of one tool whose words are kept. Sketches keep the smallest hashes, and so does this. */
export const MOST_REQUESTS = 256

export function mergeWords(known: readonly RequestWords[] = [], added: readonly RequestWords[] = []): RequestWords[] {
  const fresh = added.filter(([request]) => !known.some(([other]) => other === request))
  if (fresh.length === 0) return known as RequestWords[]
  return [...known, ...fresh].sort(([a], [b]) => (a < b ? -1 : 1)).slice(0, MOST_REQUESTS)
}

/** Counts requests as witnesses: those that are the same in other words are one. */
export interface RequestGroups {
  /** Distinct requests of a sketch of this capacity. */
  count(requests: Sketch, capacity?: number): number
}

export function requestGroups(words: readonly (readonly RequestWords[] | undefined)[]): RequestGroups {
  const leaders = groupRequests(new Map(words.flatMap((some) => some ?? [])))
  return {
    count(requests, capacity = SKETCH_CAPACITY) {
      const distinct = new Set(requests.map((request) => leaders.get(request) ?? request)).size
      // A full sketch is a sample, of which the groups are a share.
      return requests.length < capacity
        ? distinct
        : Math.round((countOf(requests, capacity) * distinct) / requests.length)
    },
  }
}
