/** Objects whose keys are names that somebody chose: only that they are objects belongs to the shape. */
const NAMED = new Set([
  ...['by_reason', 'toolCallCounts', 'would_block', 'not_judged', 'calls_per_tool', 'arguments', 'args', 'bindings'],
  ...[
    'details',
    'timelines',
    'acts',
    'workflowDetails',
    'planDetails',
    'compiled_session',
    'export',
    'context',
    'definition',
  ],
  ...['expected', 'found', 'max_calls_per_tool', 'aggregates', 'remaining', 'envelopes', 'body'],
])

/** Every place of a reply with its type, once: what a page may rely on. Empty lists and nulls say nothing. */
export function shapeOf(value: unknown, path = '', places = new Set<string>()): Set<string> {
  if (value === null || value === undefined) return places
  if (Array.isArray(value)) {
    for (const item of value) shapeOf(item, `${path}[]`, places)
    return places
  }
  if (typeof value !== 'object') return places.add(`${path}: ${typeof value}`)
  const name = path.split('.').at(-1)?.replaceAll('[]', '') ?? ''
  for (const [key, inner] of Object.entries(value)) {
    if (!NAMED.has(name)) shapeOf(inner, `${path}.${key}`, places)
    else if (DEEP.has(name)) shapeOf(inner, `${path}.*`, places)
  }
  return places
}

/** By names, but of one shape each. */
const DEEP = new Set(['details', 'timelines', 'acts', 'workflowDetails', 'planDetails'])
