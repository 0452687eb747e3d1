export type { ApprovalRequest, ApprovalResponse, BlockReason, Contract, Decision } from '@countersign/protocol'
export type { Narrowed } from './authority/authority.js'
export { blockOf } from './base/block-of.js'
export type { Diagnostic, DiagnosticEvents, DiagnosticsCallback, DiagnosticType } from './base/diagnostics.js'
export {
  CallsWaitingError,
  CONFIG_CONDITIONS,
  type ConfigCondition,
  type EnforcementDecision,
  NotExecutedError,
  type ParkedQuestion,
  ReplayConfigError,
  ReplayContractError,
  ReplayKillError,
  ReplayParkedError,
  ReplayUnavailableError,
} from './base/errors.js'
export type { HealthSnapshot } from './base/health-snapshot.js'
export type { ToolRun, WrappedTool, WrappedTools } from './calls/invoke.js'
export type { Settlement } from './calls/settle.js'
export { readPack } from './contracts/contract-files.js'
export {
  type ContractsInput,
  compileContracts,
  type PrepareContractsOptions,
  type PreparedContracts,
  prepareContracts,
} from './contracts/contracts.js'
export { type ValidateOptions, validate } from './contracts/validate.js'
export { type ObserveHandle, observe } from './observe/observe.js'
export { type AskPeopleOptions, askPeople } from './options/ask-people.js'
export { readEnvironment, type SdkEnvironment } from './options/environment.js'
export type { ObserveOptions } from './options/observe-options.js'
export type {
  CallInDoubt,
  NarrowResult,
  ProtectionLevel,
  ReplayOptions,
  SessionGate,
  ToolContext,
  ToolExecutor,
  ToolInvocation,
  ToolMap,
} from './options/replay-options.js'
export type { SessionStore, StoredSession } from './options/session-store.js'
export type { WorkflowOptions } from './options/workflow-options.js'
export type { NeutralCall, NeutralMessage, NeutralRequest, NeutralTool } from './providers/neutral.js'
export type { BatchOptions, CallBatches, ShownCall } from './session/call-batches.js'
export type { PersonsAnswer } from './session/core/checkpoints.js'
export type { ShadowDelta } from './session/core/shadow-delta.js'
export type { TraceEntry } from './session/core/trace.js'
export type { AllowVerdict, AskVerdict, BlockVerdict, CallVerdict } from './session/core/verdicts.js'
export { findSession, type SessionSearch } from './session/find-session.js'
export { openSession } from './session/open-session.js'
export { openSharedSession } from './session/open-shared-session.js'
export { pinTools, type SeenTools } from './session/pin-tools.js'
export type { AskedCall } from './session/propose-again.js'
export type { Question, QuestionsWait, ResumedCall } from './session/questions.js'
export { type ModelRequest, readModelRequest } from './session/read-model-request.js'
export { replay } from './session/replay.js'
export { ReplaySession } from './session/replay-session.js'
export { Session } from './session/session.js'
export type { SessionTurn, TurnAnswer, TurnInput, TurnRefusal } from './session/session-turn.js'
export { type OfferWait, waitForOffer } from './session/wait-for-offer.js'
export type { HandoffOffer, HandoffWait, JoinedSession } from './session/workflow.js'
