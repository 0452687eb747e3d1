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
export type { ReplayOptions, ToolContext, ToolExecutor, WorkflowOptions } from './replay-options.js'
export type { SessionStore, StoredSession } from './session-store.js'
export { type ValidateOptions, validate } from './validate.js'
