import type { ReadResponse } from '@countersign/engine'
import { type CaptureItem, type Decision, type Flows, LIMITS, type ProposalCapture } from '@countersign/protocol'
import { isoTime } from '../base/iso-time.js'
import { UNNAMED_AGENT } from '../store/sessions/content.js'
import type { PreparedRequest, SessionRow } from '../store/sessions/session-row.js'

export interface RecordedProposal {
  readonly session: SessionRow
  readonly request: PreparedRequest
  readonly proposalId: string
  readonly response: ReadResponse
  readonly decisions: readonly Decision[]
  readonly flows: Flows | undefined
  /** As the client sent it. */
  readonly capture: ProposalCapture | undefined
}

/** A proposal as a capture, also one without calls. Null where the client wants none, or it cannot be read. */
export function governedCapture(judged: RecordedProposal): CaptureItem | null {
  const { session, request, proposalId, response, decisions, flows, capture } = judged
  const calls = response.calls.filter(({ problem }) => problem === null)
  if (capture === 'none' || response.problems.length > 0 || calls.length < response.calls.length) return null
  const names = [...new Set(calls.map(({ name }) => name))]
  return {
    capture_id: proposalId,
    schema_version: '1.0',
    capture_level: session.fixed.captureLevel,
    agent: session.head.state.agent ?? UNNAMED_AGENT,
    conversation_id: session.fixed.sessionId,
    timestamp: isoTime(session.now),
    provider: request.provider ?? 'unknown',
    model_id: response.model?.slice(0, 256) ?? request.model,
    primary_tool_name: names[0] ?? null,
    tool_names: names,
    request: {
      tools: request.allowed.slice(0, LIMITS.toolsPerPreflight).map((name) => ({ name })),
      ...(capture !== undefined && { messages: capture.messages }),
    },
    response: {
      tool_calls: calls.map(({ id, name, argumentsText }) => ({ id, name, arguments: argumentsText })),
      content: response.content,
      finish_reason: response.finishReason,
    },
    validation: {
      mode: 'enforce',
      pass: decisions.every(({ decision }) => decision === 'allow'),
      calls: decisions.map(({ index, decision, reasons }) => ({
        index,
        decision,
        reasons: reasons.map(({ reason }) => reason),
      })),
    },
    latency_ms: 0,
    sdk_session_id: session.fixed.sessionId,
    ...(flows !== undefined && { flows }),
  }
}
