import type { JsonValue } from '@countersign/protocol'
import { type JSONPathQuery, jsonpath } from 'json-p3'
import { compileFilter, type Follow, type Found, type Walk } from './path-filter.js'

/**
 * Turns a parsed query into a walk over the value, depth first, in the order of RFC 9535. The library's own evaluation
 * builds a list of nodes with their locations after each segment, and cannot be ended.
 */
export function compileWalk(query: JSONPathQuery): Follow {
  let follow: Follow = (_walk, value, found) => found(value)
  for (const segment of query.segments.toReversed()) {
    const next = follow
    const selectors = segment.selectors.map((selector) => compileSelector(selector, next))
    const [only] = selectors
    const select: Follow =
      selectors.length === 1 && only !== undefined
        ? only
        : (walk, value, found) => selectors.some((selector) => selector(walk, value, found))
    follow = segment.token.kind === jsonpath.TokenKind.DDOT ? descend(select) : select
  }
  return follow
}

const { FilterSelector, IndexSelector, NameSelector, SliceSelector, WildcardSelector } = jsonpath.selectors

type Selector = JSONPathQuery['segments'][number]['selectors'][number]

function compileSelector(selector: Selector, next: Follow): Follow {
  if (selector instanceof NameSelector) return named(selector.name, next)
  if (selector instanceof IndexSelector) return indexed(selector.index, next)
  if (selector instanceof SliceSelector) return sliced(selector, next)
  if (selector instanceof WildcardSelector) return eachChild(next)
  if (selector instanceof FilterSelector) {
    const holds = compileFilter(selector.expression, compileWalk)
    return eachChild((walk, value, found) => holds(value, walk.root) && next(walk, value, found))
  }
  throw new Error('a selector of this kind is not RFC 9535')
}

/** Goes on at a child. After an ended walk the location is not read, so it need not be restored. */
function enter(walk: Walk, step: string | number, value: JsonValue, next: Follow, found: Found): boolean {
  walk.location.push(step)
  if (next(walk, value, found)) return true
  walk.location.pop()
  return false
}

function named(name: string, next: Follow): Follow {
  return (walk, value, found) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, name)) return false
    return enter(walk, name, value[name] as JsonValue, next, found)
  }
}

function indexed(index: number, next: Follow): Follow {
  return (walk, value, found) => {
    if (!Array.isArray(value)) return false
    const at = index < 0 ? value.length + index : index
    return at >= 0 && at < value.length && enter(walk, at, value[at] as JsonValue, next, found)
  }
}

function sliced({ start, stop, step = 1 }: InstanceType<typeof SliceSelector>, next: Follow): Follow {
  return (walk, value, found) => {
    if (!Array.isArray(value) || step === 0) return false
    const { length } = value
    const bound = (at: number, low: number, high: number) => Math.min(Math.max(at < 0 ? at + length : at, low), high)
    if (step > 0) {
      const end = stop === undefined ? length : bound(stop, 0, length)
      for (let at = start === undefined ? 0 : bound(start, 0, length); at < end; at += step) {
        if (enter(walk, at, value[at] as JsonValue, next, found)) return true
      }
      return false
    }
    const end = stop === undefined ? -1 : bound(stop, -1, length - 1)
    for (let at = start === undefined ? length - 1 : bound(start, -1, length - 1); at > end; at += step) {
      if (enter(walk, at, value[at] as JsonValue, next, found)) return true
    }
    return false
  }
}

function eachChild(next: Follow): Follow {
  return (walk, value, found) => {
    if (typeof value !== 'object' || value === null) return false
    if (Array.isArray(value)) {
      for (let at = 0; at < value.length; at++) {
        if (enter(walk, at, value[at] as JsonValue, next, found)) return true
      }
      return false
    }
    for (const key of Object.keys(value)) {
      if (enter(walk, key, value[key] as JsonValue, next, found)) return true
    }
    return false
  }
}

/** Selects from the value and from everything below it. */
function descend(select: Follow): Follow {
  const deeper: Follow = (walk, value, found) => select(walk, value, found) || visitChildren(walk, value, found)
  const visitChildren = eachChild((walk, value, found) => deeper(walk, value, found))
  return deeper
}
