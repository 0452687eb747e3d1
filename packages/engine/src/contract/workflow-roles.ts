import type { WorkflowDefinition } from '@countersign/protocol'
import { suggestName } from '../text/closest-name.js'

/** Roles whose sessions start without an offer: those marked as root, otherwise those that no handoff leads to. */
export function rootRoles(definition: WorkflowDefinition): ReadonlySet<string> {
  const roles = Object.entries(definition.roles)
  const marked = roles.filter(([, role]) => role.root === true)
  const targets = new Set((definition.handoffs ?? []).map(({ to }) => to))
  const roots = marked.length > 0 ? marked : roles.filter(([name]) => !targets.has(name))
  return new Set(roots.map(([name]) => name))
}

/** The tools that sessions of a role may use; null: all that their contracts allow. Undefined: no such role. */
export function toolsOfRole({ roles }: WorkflowDefinition, role: string): string[] | null | undefined {
  const found = Object.hasOwn(roles, role) ? roles[role] : undefined
  return found === undefined ? undefined : found.tools === undefined ? null : distinct(found.tools)
}

/** A handoff that a session wants to offer. */
export interface Offer {
  readonly definition: WorkflowDefinition
  readonly fromRole: string
  readonly toRole: string
  /** The tools that the offering session names; undefined: as the role says. */
  readonly tools: readonly string[] | undefined
  /** The tools that the offering session was granted itself; null: no limit. */
  readonly bound: readonly string[] | null
}

/** What an offer grants, or why it cannot be made. */
export type OfferTerms =
  | {
      readonly ok: true
      /** The tools that the accepting session may use; null: no limit. */
      readonly tools: string[] | null
      /** The tools that the accepting session may delegate, whatever the next role has. */
      readonly bound: string[] | null
    }
  | { readonly ok: false; readonly problem: string }

/** What an offer grants. A session cannot delegate more than the role, the handoff and its own offer allow. */
export function termsOfOffer({ definition, fromRole, toRole, tools, bound }: Offer): OfferTerms {
  const roleTools = toolsOfRole(definition, toRole)
  if (roleTools === undefined) {
    return fail(`there is no role "${toRole}"; ${suggestName(toRole, Object.keys(definition.roles))}`)
  }
  const edge = (definition.handoffs ?? []).find(({ from, to }) => from === fromRole && to === toRole)
  if (edge === undefined) return fail(`the workflow has no handoff from "${fromRole}" to "${toRole}"`)
  const limits = [
    { allowed: roleTools, whose: `the role "${toRole}" does not have` },
    { allowed: edge.tools ?? null, whose: `the handoff from "${fromRole}" to "${toRole}" does not offer` },
    { allowed: bound, whose: 'the session was not granted' },
  ]
  for (const { allowed, whose } of limits) {
    const beyond = allowed === null ? undefined : tools?.find((tool) => !allowed.includes(tool))
    if (beyond !== undefined) return fail(`${whose} the tool "${beyond}"`)
  }
  const named = tools ?? bound
  return {
    ok: true,
    tools: intersection([named, ...limits.map(({ allowed }) => allowed)]),
    bound: named === null ? null : distinct(named),
  }
}

const fail = (problem: string): OfferTerms => ({ ok: false, problem })

/** What all lists have in common; null stands for everything. */
function intersection(lists: readonly (readonly string[] | null)[]): string[] | null {
  const given = lists.filter((list) => list !== null)
  const [first, ...rest] = given
  return first === undefined ? null : distinct(first.filter((tool) => rest.every((list) => list.includes(tool))))
}

const distinct = (names: readonly string[]): string[] => [...new Set(names)].sort()
