import type { JsonObject, JsonValue } from '@countersign/protocol'

/** A change that makes a body larger, or wrong. All of it are whole numbers, which a search can turn. */
export interface Growth {
  /** Which part of the body, counted among those that the way can change. */
  readonly place: number
  readonly way: number
  /** Nothing is changed where it is zero. */
  readonly size: number
}

interface Place {
  readonly value: JsonValue
  set(value: JsonValue): void
}

/** Changes one part of a value. */
interface Way {
  fits(value: JsonValue): boolean
  change(value: JsonValue, size: number): JsonValue
}

const isObject = (value: JsonValue): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const many = <Item>(count: number, make: (at: number) => Item): Item[] =>
  Array.from({ length: count }, (_, at) => make(at))

/** A copy whose texts are its own, so that nothing takes it for the same again. */
function variant(value: JsonValue, at: number): JsonValue {
  if (typeof value === 'string') return /^[A-Za-z_]/.test(value) ? `${value}${at}` : value
  if (Array.isArray(value)) return value.map((item) => variant(item, at))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, variant(item as JsonValue, at)]))
}

const ofLists = (change: (list: JsonValue[], size: number) => JsonValue): Way => ({
  fits: (value) => Array.isArray(value) && value.length > 0,
  change: (value, size) => change(value as JsonValue[], size),
})
const ofObjects = (change: (object: JsonObject, size: number) => JsonValue): Way => ({
  fits: (value) => isObject(value) && Object.keys(value).length > 0,
  change: (value, size) => change(value as JsonObject, size),
})
const ofTexts = (change: (text: string, size: number) => JsonValue): Way => ({
  fits: (value) => typeof value === 'string',
  change: (value, size) => change(value as string, size),
})
const ofAll = (change: (size: number) => JsonValue): Way => ({ fits: () => true, change: (_, size) => change(size) })

/** Everything that one part of a body may become. */
export const WAYS: readonly Way[] = [
  ofLists((list, size) => many(size, (at) => variant(list[at % list.length] as JsonValue, at))),
  ofLists((list, size) => many(size, (at) => list[at % list.length] as JsonValue)),
  ofObjects((object, size) => {
    const entries = Object.entries(object)
    return Object.fromEntries(
      many(size, (at) => {
        const [key, value] = entries[at % entries.length] as [string, JsonValue]
        return [at < entries.length ? key : `${key}${at}`, variant(value, at)]
      }),
    )
  }),
  ofTexts((text, size) => text.repeat(Math.ceil(size / (text.length || 1)))),
  ofTexts((text, size) => `${text}${'x'.repeat(size)}`),
  ofTexts((text, size) => `${text}${'\\"é\u{1f600}'.repeat(Math.ceil(size / 5))}`),
  ofTexts((text, size) => `${'('.repeat(size)}${text}${')'.repeat(size)}`),
  // All that is no word, such as the spaces of a policy; and one word or sign in its place.
  ofTexts((text, size) => text.replace(/\W/g, (sign) => sign.repeat(Math.ceil(size / text.length)))),
  ofTexts((text, size) => {
    const parts = text.match(/\w+|\W/g) ?? ['x']
    const at = size % parts.length
    const repeated = (parts[at] as string).repeat(Math.ceil(size / (parts[at] as string).length))
    return parts.with(at, repeated).join('')
  }),
  ofAll((size) => many(size, () => ({}))),
  ofAll((size) => many(size, (at) => `n${at}`)),
  ofAll((size) => Object.fromEntries(many(size, (at) => [`k${at}`, at]))),
  ofAll((size) => many(Math.min(size, 60), (at) => at).reduce<JsonValue>((inner) => [inner], size)),
  ofAll((size) => size),
]

/** A copy of the body with the changes made, one after another. */
export function grown(body: JsonValue, growths: readonly Growth[]): JsonValue {
  const holder: { body: JsonValue } = { body: structuredClone(body) }
  for (const { place, way, size } of growths) {
    if (size === 0) continue
    const chosen = WAYS[way % WAYS.length] as Way
    const places = placesIn(holder).filter(({ value }) => chosen.fits(value))
    const at = places[place % (places.length || 1)]
    // Many of something large would not fit into the memory of the search, let alone into a body.
    at?.set(chosen.change(at.value, Math.min(size, Math.ceil(MOST_VALUES / valuesIn(at.value)))))
  }
  return holder.body
}

const MOST_VALUES = 1_000_000

const valuesIn = (value: JsonValue): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce<number>((sum, part) => sum + valuesIn(part as JsonValue), 1)
    : 1

const MOST_PLACES = 5_000

function placesIn(root: object): Place[] {
  const places: Place[] = []
  const open: object[] = [root]
  for (let container = open.pop(); container !== undefined && places.length < MOST_PLACES; container = open.pop()) {
    const parts = container as Record<string, JsonValue>
    for (const key of Object.keys(parts).slice(0, MOST_PLACES)) {
      const value = parts[key] as JsonValue
      places.push({
        value,
        set: (next) => {
          parts[key] = next
        },
      })
      if (typeof value === 'object' && value !== null) open.push(value)
    }
  }
  return places
}
