import type { JsonValue } from '@countersign/protocol'

/** What the `context` of a policy can have: other attributes never exist. */
export const CONTEXT_ATTRIBUTES = ['arguments', 'time'] as const
export const TIME_ATTRIBUTES = ['hour', 'minute', 'weekday', 'epoch'] as const

/**
 * Attributes that a policy reads and that cannot exist. A condition on one would be an error at every call, which
 * blocks. What the principal has is for the program to say; agents and tools have no attributes. `argumentNames`: the
 * arguments that the tool takes; null if it takes any.
 */
export function impossibleAttributes(policy: JsonValue, argumentNames: readonly string[] | null): string[] {
  const problems = new Set<string>()
  const allowed = (from: string): readonly string[] | null => {
    if (from === 'context') return CONTEXT_ATTRIBUTES
    if (from === 'context.time') return TIME_ATTRIBUTES
    if (from === 'context.arguments') return argumentNames
    return from === 'resource' || from === 'action' ? [] : null
  }
  const read = (from: string | null, attribute: string): string | null => {
    if (from === null) return null
    const names = allowed(from)
    if (names !== null && !names.includes(attribute)) {
      const known = names.length === 0 ? 'it has no attributes' : `it has ${names.join(', ')}`
      problems.add(`${from}.${attribute} cannot exist: ${known}`)
    }
    return `${from}.${attribute}`
  }
  /** Visits an expression, and says what it reads if it is a variable or a chain of attributes. */
  const visit = (node: JsonValue | undefined): string | null => {
    if (typeof node !== 'object' || node === null) return null
    if (Array.isArray(node)) {
      node.forEach(visit)
      return null
    }
    if (typeof node.Var === 'string') return node.Var
    const access = node['.'] ?? node.has
    if (isAccess(access)) {
      const from = visit(access.left)
      return [access.attr].flat().reduce<string | null>((at, name) => read(at, String(name)), from)
    }
    Object.values(node).forEach(visit)
    return null
  }
  visit(policy)
  return [...problems]
}

function isAccess(node: JsonValue | undefined): node is { left: JsonValue; attr: JsonValue } {
  return typeof node === 'object' && node !== null && !Array.isArray(node) && 'left' in node && 'attr' in node
}
