export { applyEvent, foldEvents } from './advance.js'
export { analyzePlan, type PlanRemark } from './analyze-plan.js'
export { applyProposal, type ProposalFacts } from './apply-proposal.js'
export {
  type BacktestOptions,
  backtestSession,
  type CallVerdict,
  type PastCall,
  type PastSession,
  type PastTurn,
} from './backtest.js'
export { addToTally, type BacktestTally, type Expected, newTally, reportOf } from './backtest-report.js'
export { canonicalJson } from './canonical-json.js'
export {
  type CedarModule,
  type CedarRequest,
  createPolicyEvaluator,
  type PolicyDecision,
  type PolicyEvaluator,
  type PolicyQuestion,
  type PreparedPolicy,
} from './cedar.js'
export { chainEvent, verifyChain, verifyExport } from './chain.js'
export { readByPath } from './check-invariant.js'
export { type CheckedCall, checkpointBlock, isApproved, triggeredCheckpoints } from './checkpoint.js'
export { closestName, suggestName } from './closest-name.js'
export type { Steps } from './compile-budget.js'
export { type CompileResult, compilePlan, compilePlanInSteps, type PlanSources } from './compile-plan.js'
export { compileWorkflow, type WorkflowCompilation } from './compile-workflow.js'
export { modesConflict, type ResourceMode, renderResource } from './conflicts.js'
export { copyState } from './copy-state.js'
export {
  addDecimals,
  compareDecimals,
  type Decimal,
  decimalText,
  isMultipleOf,
  multiplyDecimals,
  subtractDecimals,
  toDecimal,
} from './decimal.js'
export { describeContract } from './describe-contract.js'
export { diffPlans, type PlanChange } from './diff-plans.js'
export { doubtfulJson } from './doubtful-json.js'
export { equalValues } from './equal-values.js'
export { evaluateProposal } from './evaluate-proposal.js'
export { checkExecution } from './execution.js'
export { hashValue, saltedHash, sha256Hex } from './hash.js'
export { type CompiledPath, compilePath, locationPath, type PathCompilation, type PathNode } from './json-path.js'
export {
  type CompiledSchema,
  compileSchema,
  type SchemaCompilation,
  type SchemaProblem,
} from './json-schema.js'
export { LADDER, REASONS_AFTER_THE_DECISION } from './ladder.js'
export { upperBound } from './learn/bound.js'
export {
  type Draft,
  type DraftOptions,
  draftContracts,
  draftContractsInSteps,
  type OfferedTool,
} from './learn/draft.js'
export type { Suggestion } from './learn/draft-suggestions.js'
export { flowOf, newTrail, sawCall, sawResult, sawUser, type Trail, takeColumns } from './learn/flows.js'
export { forgetCall } from './learn/forget.js'
export { leavesOf } from './learn/leaves.js'
export { parseResultText } from './learn/read-result.js'
export {
  addCall,
  addColumns,
  mergeSummaries,
  newSummary,
  type ObservedCall,
  readSummary,
  type ToolSummary,
} from './learn/summary.js'
export { describeDraft, draftNotes, writeContract } from './learn/write-contract.js'
export { type Narrowing, narrowTools } from './narrow.js'
export {
  isOperatorName,
  OPERATORS,
  type Operator,
  type OperatorName,
  type OperatorTest,
  type PreparedOperator,
  prepareOperator,
} from './operators.js'
export type { PhaseGraph } from './phase-graph.js'
export type { Plan, PreparedContract } from './plan.js'
export {
  checkPreflight,
  judgeInputInvariants,
  type Preflight,
  type PreflightBlock,
  preflightBlock,
  readInputValues,
} from './preflight.js'
export { hashPlan, type Preparation, type PrepareOptions, preparePlan, preparePlanInSteps } from './prepare-plan.js'
export { modelPattern } from './pricing.js'
export type { Proposal, Verdict } from './proposal.js'
export {
  normalizeResponse,
  type ProviderRun,
  type ReadResponse,
  type ResponseFormat,
  readResponse,
  type ToolCall,
} from './read-calls.js'
export { type CompileNote, type ContractSource, describeNote } from './read-source.js'
export { judgeReceipts, type ReceiptBatch, type ReceiptVerdict } from './receipts.js'
export { compileRegex, type Regex, RegexTooCostlyError } from './regex.js'
export { type ResponseView, viewResponse } from './response-view.js'
export { judgeSources, type SourceContext, type SourceViolation } from './rules/sources.js'
export { type CreatedEvent, initialState } from './session-start.js'
export { forbiddenTools, snapshotOf } from './snapshot.js'
export type { OpenStep, PendingCall, SessionState } from './state.js'
export {
  checkStrictValue,
  FORBIDDEN_KEYS,
  holdsNul,
  parseStrictJson,
  type StrictJson,
} from './strict-json.js'
export { type ValidationResult, validateResponse } from './validate.js'
export { type ChainCheck, GENESIS_HASH } from './verify-links.js'
export { chainWorkflowEvent, verifyWorkflowChain, verifyWorkflowExport } from './workflow-chain.js'
export {
  type Offer,
  type OfferTerms,
  rootRoles,
  termsOfOffer,
  toolsOfRole,
  type WorkflowProblem,
  workflowProblems,
} from './workflow-rules.js'
