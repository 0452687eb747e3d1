import type { WorkflowDefinition } from '@countersign/protocol'
import { suggestName } from '../text/closest-name.js'

/** Roles whose sessions start without an offer: those marked as root, else those that no handoff leads to. */
export function rootRoles(definition: WorkflowDefinition): ReadonlySet<string> {
  const roles = Object.entries(definition.roles)
  const marked = roles.filter(([, role]) => role.root === true)
  const targets = new Set((definition.handoffs ?? []).map(({ to }) => to))
  const roots = marked.length > 0 ? marked : roles.filter(([name]) => !targets.has(name))
  return new Set(roots.map(([name]) => name))
}

/** The most that sessions of a role may use; null: all that their contracts allow. Undefined: there is no such role. */
export function toolsOfRole({ roles }: WorkflowDefinition, role: string): string[] | null | undefined {
  const found = Object.hasOwn(roles, role) ? roles[role] : undefined
  return found === undefined ? undefined : found.tools === undefined ? null : distinct(found.tools)
}

export interface Offer {
  readonly definition: WorkflowDefinition
  readonly fromRole: string
  readonly toRole: string
  /** The tools that the offering session names; undefined: it leaves that to the role. */
  readonly tools: readonly string[] | undefined
  /** What the offering session was handed itself, by name; null: nothing bounds it. */
  readonly bound: readonly string[] | null
}

export type OfferTerms =
  | {
      readonly ok: true
      /** The most that the session which takes the offer may use; null: not bounded. */
      readonly tools: string[] | null
      /** What that session may hand on at most, whatever the next role has. */
      readonly bound: string[] | null
    }
  | { readonly ok: false; readonly problem: string }

/** What an offer gives. Nobody hands on more than the role, the handoff and their own offer let them. */
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
    { allowed: bound, whose: 'the session was not handed' },
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

/** What all of the lists hold; null stands for everything. */
function intersection(lists: readonly (readonly string[] | null)[]): string[] | null {
  const given = lists.filter((list) => list !== null)
  const [first, ...rest] = given
  return first === undefined ? null : distinct(first.filter((tool) => rest.every((list) => list.includes(tool))))
}

const distinct = (names: readonly string[]): string[] => [...new Set(names)].sort()
