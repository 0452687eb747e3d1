import type { JsonObject } from '@countersign/protocol'
import { holdsUnseen } from '../text/folded-text.js'
import type { PreparedResource } from './plan.js'

/** How a call holds a resource: alone, or together with other shared holds. */
export type ResourceMode = 'exclusive' | 'shared'

/** The key of a resource for one call: `order:{$.order_id}` becomes `order:A-17`. Null if a value is missing or cannot all be seen. */
export function renderResource(resource: PreparedResource, args: JsonObject): string | null {
  let key = ''
  for (const part of resource.parts) {
    if (typeof part === 'string') {
      key += part
      continue
    }
    const value = part.first(args)
    if (typeof value !== 'string' && typeof value !== 'number') return null
    const text = String(value)
    if (holdsUnseen(text)) return null
    key += text
  }
  return key
}

/** Two holds on one key conflict unless both are shared. */
export function modesConflict(a: ResourceMode, b: ResourceMode): boolean {
  return a === 'exclusive' || b === 'exclusive'
}
