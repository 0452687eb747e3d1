export { readPack } from './contract-files.js'
export {
  type ContractsInput,
  compileContracts,
  type PrepareContractsOptions,
  type PreparedContracts,
  prepareContracts,
} from './contracts.js'
export type { Diagnostic, DiagnosticEvents, DiagnosticsCallback, DiagnosticType } from './diagnostics.js'
export {
  CONFIG_CONDITIONS,
  type ConfigCondition,
  type EnforcementDecision,
  ReplayConfigError,
  ReplayContractError,
  ReplayKillError,
  ReplayUnavailableError,
} from './errors.js'
export type { HealthSnapshot } from './health-snapshot.js'
export { type ObserveHandle, observe } from './observe.js'
export type { ObserveOptions } from './observe-options.js'
export { readEnvironment, type SdkEnvironment } from './options.js'
export { replay } from './replay.js'
export type { CallInDoubt, NarrowResult, ReplayOptions, ToolContext, ToolExecutor, ToolMap } from './replay-options.js'
export { ReplaySession } from './replay-session.js'
export type { SessionStore, StoredSession } from './session-store.js'
export type { ShadowDelta } from './shadow-delta.js'
export type { WrappedTool, WrappedTools } from './tools.js'
export type { TraceEntry } from './trace.js'
export { type ValidateOptions, validate } from './validate.js'
export { type OfferWait, waitForOffer } from './wait-for-offer.js'
export type { HandoffOffer, HandoffWait } from './workflow.js'
export type { WorkflowOptions } from './workflow-options.js'
