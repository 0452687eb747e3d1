import { dirname, resolve } from 'node:path'
import { compileWorkflow, suggestName } from '@countersign/engine'
import { idSchema, LIMITS, type WorkflowDefinition } from '@countersign/protocol'
import { readSessionFile } from '../contracts/contract-files.js'
import { compilationFailed } from '../contracts/contracts.js'
import { refuse } from './option-checks.js'

/** The session's place in a workflow. */
export interface WorkflowOptions {
  readonly workflowId: string
  readonly role: string
  /** The offer that the session answers; joining is accepting. Sessions of a root role need none. */
  readonly handoffId?: string
  /** Given by the session that opens the workflow: the definition itself, or the path of its workflow.yaml. */
  readonly definition?: WorkflowDefinition | string
}

/** The option once it was read and checked. */
export interface JoinedWorkflow extends Omit<WorkflowOptions, 'definition'> {
  readonly definition?: WorkflowDefinition
  /** The session.yaml that workflow.yaml names for the role. */
  readonly sessionYamlPath?: string
}

interface Surroundings {
  readonly apiKey: string | null
  readonly hasTools: boolean
  readonly watchesOnly: boolean
  readonly onError: 'block' | 'allow'
}

const NAMES: readonly string[] = ['workflowId', 'role', 'handoffId', 'definition'] satisfies (keyof WorkflowOptions)[]

/** Checks the option `workflow` of `replay`. What is wrong with it is thrown, with the line in workflow.yaml. */
export function readWorkflowOption(given: WorkflowOptions | undefined, around: Surroundings): JoinedWorkflow | null {
  if (given === undefined) return null
  if (typeof given !== 'object' || given === null) refuse('workflow', 'must be an object, such as { workflowId, role }')
  for (const name of Object.keys(given)) {
    if (!NAMES.includes(name)) refuse(`workflow.${name}`, `is not an option: ${suggestName(name, NAMES)}`)
  }
  const { workflowId, role, handoffId, definition } = given
  if (!idSchema.safeParse(workflowId).success) refuse('workflow.workflowId', 'must be 1 to 128 of A-Z a-z 0-9 _ . : -')
  if (typeof role !== 'string' || role === '' || role.length > LIMITS.idLength) {
    refuse('workflow.role', `must be a text of 1 to ${LIMITS.idLength} characters`)
  }
  if (handoffId !== undefined && !idSchema.safeParse(handoffId).success) {
    refuse('workflow.handoffId', 'must be 1 to 128 of A-Z a-z 0-9 _ . : -')
  }
  if (!around.watchesOnly && (around.apiKey === null || !around.hasTools)) {
    refuse('workflow', 'needs the options apiKey and tools: workflows live on the server')
  }
  // What other sessions hold, and whether the workflow was stopped, only the server knows.
  if (around.onError === 'allow') refuse('onError', 'must be block for a session of a workflow')
  const join = { workflowId, role, ...(handoffId !== undefined && { handoffId }) }
  return definition === undefined ? join : { ...join, ...readDefinition(definition, role) }
}

function readDefinition(given: WorkflowDefinition | string, role: string) {
  const isPath = typeof given === 'string'
  const compiled = compileWorkflow(isPath ? readSessionFile(given) : { file: 'workflow', value: given })
  if (!compiled.ok) throw compilationFailed(compiled.errors, 'the workflow does not compile')
  const { definition } = compiled
  const session = Object.hasOwn(definition.roles, role) ? definition.roles[role]?.session : undefined
  return {
    definition,
    ...(isPath && session !== undefined && { sessionYamlPath: resolve(dirname(given), session) }),
  }
}
