import type { WorkflowDefinition } from '@countersign/protocol'

/** The option `workflow` of `replay`: the session's place in a workflow. */
export interface WorkflowOptions {
  /** Id of the workflow. */
  readonly workflowId: string
  /** Role of the session in the workflow. */
  readonly role: string
  /** The handoff that the session accepts by joining. A root role needs none. */
  readonly handoffId?: string
  /** The definition of the workflow, or the path of its `workflow.yaml`. Given by the session that opens it. */
  readonly definition?: WorkflowDefinition | string
}
