export type { ApprovalRequest, ApprovalResponse, BlockReason, Contract, Decision } from '@countersign/protocol'
export type { Diagnostic, DiagnosticEvents, DiagnosticsCallback, DiagnosticType } from './base/diagnostics.js'
export {
  CONFIG_CONDITIONS,
  type ConfigCondition,
  type EnforcementDecision,
  ReplayConfigError,
  ReplayContractError,
  ReplayKillError,
  ReplayUnavailableError,
} from './base/errors.js'
export type { HealthSnapshot } from './base/health-snapshot.js'
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
export { readEnvironment, type SdkEnvironment } from './options/environment.js'
export type { ObserveOptions } from './options/observe-options.js'
export type {
  CallInDoubt,
  NarrowResult,
  ReplayOptions,
  ToolContext,
  ToolExecutor,
  ToolMap,
} from './options/replay-options.js'
export type { SessionStore, StoredSession } from './options/session-store.js'
export type { WorkflowOptions } from './options/workflow-options.js'
export { replay } from './session/replay.js'
export { ReplaySession } from './session/replay-session.js'
export type { ShadowDelta } from './session/shadow-delta.js'
export { type OfferWait, waitForOffer } from './session/wait-for-offer.js'
export type { HandoffOffer, HandoffWait } from './session/workflow.js'
export type { WrappedTool, WrappedTools } from './turn/tools.js'
export type { TraceEntry } from './turn/trace.js'
