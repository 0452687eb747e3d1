import { dirname, resolve } from 'node:path'
import { compileWorkflow } from '@countersign/engine'
import type { WorkflowDefinition } from '@countersign/protocol'
import { readSessionFile } from '../contracts/contract-files.js'
import { compilationFailed } from '../contracts/contracts.js'
import { refuse, refuseWrongOptions } from './check-options.js'
import type { WorkflowOptions } from './workflow-options.js'

/** The option `workflow` after it was checked and its definition was read. */
export interface JoinedWorkflow extends Omit<WorkflowOptions, 'definition'> {
  readonly definition?: WorkflowDefinition
  /** The session.yaml that workflow.yaml names for the role. */
  readonly sessionYamlPath?: string
}

/** The other options that a workflow depends on. */
interface OtherOptions {
  readonly apiKey: string | null
  readonly hasTools: boolean
  readonly watchesOnly: boolean
  readonly onError: 'block' | 'allow'
}

/** Checks the option `workflow` of `replay`. Throws for anything wrong, with the line in workflow.yaml. */
export function readWorkflowOption(given: WorkflowOptions | undefined, others: OtherOptions): JoinedWorkflow | null {
  if (given === undefined) return null
  refuseWrongOptions('workflow', given, 'workflow.')
  if (!others.watchesOnly && (others.apiKey === null || !others.hasTools)) {
    refuse('workflow', 'needs the options apiKey and tools: workflows exist only on the server')
  }
  // Only the server knows what other sessions hold and whether the workflow was stopped.
  if (others.onError === 'allow') refuse('onError', 'must be block for a session in a workflow')
  const { workflowId, role, handoffId, definition } = given
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
