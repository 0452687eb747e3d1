import { randomUUID } from 'node:crypto'
import type { HandoffView, WorkflowView } from '@countersign/protocol'
import { ReplayConfigError } from './errors.js'
import { errorOf } from './refusals.js'
import type { SessionCore } from './session-core.js'
import { ServiceRefusal } from './transport.js'

/** Work that a session offers to another role of its workflow. */
export interface HandoffOffer {
  readonly toRole: string
  /** The most that the receiving session may use; everything its role has unless said. */
  readonly tools?: readonly string[]
  readonly note?: string
  readonly expiresInSeconds?: number
  /** Made up unless given; give it to offer the same handoff again after a lost answer. */
  readonly handoffId?: string
}

export async function loadWorkflow(core: SessionCore): Promise<WorkflowView> {
  const { transport, workflowId } = await workflowOf(core)
  return transport.call('loadWorkflow', { params: { workflow_id: workflowId } }).catch(translated)
}

export async function offerHandoff(core: SessionCore, offer: HandoffOffer): Promise<HandoffView> {
  const { transport, server } = await workflowOf(core)
  const { toRole, tools, note, expiresInSeconds, handoffId } = offer
  const body = {
    handoff_id: handoffId ?? `hnd_${randomUUID()}`,
    fence: server.known().fence,
    to_role: toRole,
    ...(tools !== undefined && { tools: [...tools] }),
    ...(note !== undefined && { note }),
    ...(expiresInSeconds !== undefined && { expires_in_seconds: expiresInSeconds }),
  }
  const params = { session_id: core.settings.sessionId }
  const { handoff } = await transport.call('offerHandoff', { params, body }).catch(translated)
  return handoff
}

/** Workflows live on the server: only a session that it governs has one. */
async function workflowOf(core: SessionCore) {
  await core.ready()
  const { transport } = core
  const { workflow } = core.settings
  const server = core.server()
  if (transport === null || server === null || workflow === null) {
    throw new ReplayConfigError('the session is in no workflow: give the options workflow, apiKey and tools', null)
  }
  await core.authority().start().catch(translated)
  return { transport, server, workflowId: workflow.workflowId }
}

function translated(error: unknown): never {
  throw error instanceof ServiceRefusal ? errorOf(error) : error
}
