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
export type { ReplayOptions, ToolContext, ToolExecutor, WorkflowOptions } from './replay-options.js'
export type { SessionStore, StoredSession } from './session-store.js'
