import { LIMITS, type WorkflowDefinition } from '@countersign/protocol'
import { rootRoles } from '../contract/workflow-roles.js'
import { suggestName } from '../text/closest-name.js'
import { FIXES } from './fixes.js'
import type { Problem } from './problem.js'

type Edge = NonNullable<WorkflowDefinition['handoffs']>[number]

/** What is wrong with a workflow definition beyond its shape; empty if it can be used. */
export function workflowProblems(definition: WorkflowDefinition): Problem[] {
  const roles = Object.keys(definition.roles)
  const count = roles.length
  if (count === 0) return [{ path: ['roles'], message: 'the workflow has no roles', fix: 'declare at least one role' }]
  if (count > LIMITS.rolesPerWorkflow) {
    return [
      {
        path: ['roles'],
        message: `the workflow has ${count} roles`,
        fix: `declare at most ${LIMITS.rolesPerWorkflow}`,
      },
    ]
  }
  const problems = (definition.handoffs ?? []).flatMap((edge, index) => edgeProblems(definition, edge, index))
  if (problems.length === 0 && rootRoles(definition).size === 0) {
    const message = 'every role is the target of a handoff, so no session can start'
    problems.push({ path: ['roles'], message, fix: 'mark the starting role with `root: true`' })
  }
  return problems
}

function edgeProblems(definition: WorkflowDefinition, edge: Edge, index: number): Problem[] {
  const roles = Object.keys(definition.roles)
  const path = ['handoffs', index]
  const unknown = (['from', 'to'] as const)
    .filter((end) => !Object.hasOwn(definition.roles, edge[end]))
    .map((end) => ({
      path: [...path, end],
      message: `there is no role "${edge[end]}"`,
      fix: suggestName(edge[end], roles),
    }))
  if (unknown.length > 0) return unknown
  const problems: Problem[] = []
  const first = (definition.handoffs ?? []).findIndex(({ from, to }) => from === edge.from && to === edge.to)
  if (first !== index) {
    problems.push({
      path,
      message: `the handoff from "${edge.from}" to "${edge.to}" is declared twice`,
      fix: FIXES.repeated,
    })
  }
  const known = definition.roles[edge.to]?.tools
  for (const tool of known === undefined ? [] : (edge.tools ?? []).filter((name) => !known.includes(name))) {
    const message = `the role "${edge.to}" does not have the tool "${tool}"`
    problems.push({ path: [...path, 'tools'], message, fix: suggestName(tool, known ?? []) })
  }
  return problems
}
