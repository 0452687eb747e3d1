import type { WorkflowDefinition } from '@countersign/protocol'
import { rootRoles } from '../../contract/workflow-roles.js'
import { suggestName } from '../../text/closest-name.js'
import { FIXES } from '../report/fixes.js'
import type { Problem } from '../report/problem.js'

type Edge = NonNullable<WorkflowDefinition['handoffs']>[number]

/** What is wrong with a workflow definition beyond its shape; empty if it can be used. */
export const workflowProblems = (definition: WorkflowDefinition): Problem[] => [...problemsOf(definition)]

/** The first of them, or null. A definition may have many, and each takes time to be put into words. */
export const firstWorkflowProblem = (definition: WorkflowDefinition): Problem | null =>
  problemsOf(definition).next().value ?? null

function* problemsOf(definition: WorkflowDefinition): Generator<Problem, undefined> {
  if (Object.keys(definition.roles).length === 0) {
    yield { path: ['roles'], message: 'the workflow has no roles', fix: 'declare at least one role' }
    return
  }
  let isSound = true
  const seen: Seen = { declared: new Set(), tools: new Map() }
  for (const [index, edge] of (definition.handoffs ?? []).entries()) {
    for (const problem of edgeProblems(definition, edge, { index, ...seen })) {
      isSound = false
      yield problem
    }
  }
  if (isSound && rootRoles(definition).size === 0) {
    const message = 'every role is the target of a handoff, so no session can start'
    yield { path: ['roles'], message, fix: 'mark the starting role with `root: true`' }
  }
}

/** What the handoffs before have shown. */
interface Seen {
  readonly declared: Set<string>
  /** Of each role that one leads to. Many lead to the same one. */
  readonly tools: Map<string, ReadonlySet<string>>
}

function* edgeProblems(
  definition: WorkflowDefinition,
  edge: Edge,
  { index, declared, tools }: Seen & { readonly index: number },
): Generator<Problem, undefined> {
  const path = ['handoffs', index]
  const unknown = (['from', 'to'] as const).filter((end) => !Object.hasOwn(definition.roles, edge[end]))
  for (const end of unknown) {
    const fix = suggestName(edge[end], Object.keys(definition.roles))
    yield { path: [...path, end], message: `there is no role "${edge[end]}"`, fix }
  }
  if (unknown.length > 0) return
  const ends = JSON.stringify([edge.from, edge.to])
  if (declared.has(ends)) {
    const message = `the handoff from "${edge.from}" to "${edge.to}" is declared twice`
    yield { path, message, fix: FIXES.repeated }
  }
  declared.add(ends)
  const known = definition.roles[edge.to]?.tools
  if (known === undefined) return
  const has = tools.get(edge.to) ?? new Set(known)
  tools.set(edge.to, has)
  for (const tool of edge.tools ?? []) {
    if (has.has(tool)) continue
    const message = `the role "${edge.to}" does not have the tool "${tool}"`
    yield { path: [...path, 'tools'], message, fix: suggestName(tool, known) }
  }
}
