export { askLess, type DecidedCall } from './backtest/ask-less.js'
export {
  type BacktestOptions,
  backtestSession,
  type CallComparison,
  type PastCall,
  type PastSession,
  type PastTurn,
} from './backtest/backtest.js'
export {
  addToTally,
  type BacktestTally,
  type ChangedCounts,
  type Expected,
  newTally,
  reportOf,
} from './backtest/backtest-report.js'
export { MOST_BLOCKED, MOST_FIRED } from './backtest/demote-rules.js'
export type { LearnedRates } from './backtest/learned-rates.js'
export { readStories } from './backtest/read-stories.js'
export { runStory, type StoryFailure } from './backtest/run-story.js'
export {
  describeRates,
  type LearnedPlan,
  type LearnOptions,
  learnPlan,
  summariesOf,
} from './backtest/self-test.js'
export { type CompileResult, compilePlan, type PlanSources } from './compile/compile-plan.js'
export {
  hashPlan,
  type Preparation,
  type PrepareOptions,
  planSizeProblem,
  preparePlan,
} from './compile/prepare-plan.js'
export type { ContractSource } from './compile/read-source.js'
export { type CompileNote, describeNote } from './compile/report/compile-note.js'
export { compileWorkflow, type WorkflowCompilation } from './compile/workflow/compile-workflow.js'
export { firstWorkflowProblem, workflowProblems } from './compile/workflow/workflow-problems.js'
export {
  createPolicyEvaluator,
  type PolicyEvaluator,
  type PolicyQuestion,
  type PolicyResult,
  type PreparedPolicy,
} from './contract/cedar.js'
export { type CedarModule, type CedarRequest, loadCedar, type ModuleLoader } from './contract/cedar-module.js'
export { readByPath, readOutputs } from './contract/check-invariant.js'
export {
  isOperatorName,
  OPERATORS,
  type Operator,
  type OperatorName,
  type OperatorTest,
  type PreparedOperator,
  prepareOperator,
} from './contract/operators.js'
export type { PhaseGraph, Plan, PreparedContract } from './contract/plan.js'
export { modelPattern, patternMeant } from './contract/pricing.js'
export { modesConflict, type ResourceMode, renderResource } from './contract/resource.js'
export {
  bucketAt,
  bucketEndMs,
  lastPastBucket,
  liveBuckets,
  type PreparedSharedLimit,
  type SharedLimits,
  sumOf,
  type UsedBucket,
} from './contract/shared-limit.js'
export type { SourceContext } from './contract/source-rule.js'
export { type Offer, type OfferTerms, rootRoles, termsOfOffer, toolsOfRole } from './contract/workflow-roles.js'
export { analyzePlan } from './explain/analyze-plan.js'
export { describeContract } from './explain/describe-contract.js'
export { diffPlans } from './explain/diff-plans.js'
export type { PlanChange } from './explain/plan-change.js'
export type { PlanRemark } from './explain/plan-remark.js'
export { flowOf } from './flows/flows.js'
export { parseResultText } from './flows/result-text.js'
export { newTrail, sawCall, sawResult, sawUser, type Trail, takeColumns } from './flows/trail.js'
export { canonicalJson } from './json/canonical-json.js'
export {
  addDecimals,
  compareDecimals,
  decimalText,
  isMultipleOf,
  multiplyDecimals,
  subtractDecimals,
} from './json/decimal.js'
export { doubtfulJson } from './json/doubtful-json.js'
export { equalValues } from './json/equal-values.js'
export { hashValue, saltedHash, sha256Hex } from './json/hash.js'
export { type CompiledPath, compilePath, locationPath, type PathCompilation, type PathNode } from './json/json-path.js'
export { leavesOf } from './json/leaves.js'
export {
  type CompiledSchema,
  compileSchema,
  type SchemaCompilation,
  type SchemaProblem,
} from './json/schema/json-schema.js'
export {
  checkStrictValue,
  FORBIDDEN_KEYS,
  holdsNul,
  parseStrictJson,
  repeatedKey,
  type StrictJson,
} from './json/strict-json.js'
export { cardHashOf, type NewQuestion, usableUntil } from './judge/asking.js'
export { checkExecution } from './judge/check-execution.js'
export {
  type CheckedCall,
  checkpointBlock,
  checkpointOwners,
  isApproved,
  type NotApproved,
  triggeredCheckpoints,
} from './judge/checkpoint.js'
export { editProblem } from './judge/edit-problem.js'
export { evaluateProposal } from './judge/evaluate-proposal.js'
export { LADDER, REASONS_AFTER_THE_DECISION } from './judge/ladder.js'
export { type Narrowed, type Narrowing, narrowTools } from './judge/narrow.js'
export {
  checkPreflight,
  judgeInputInvariants,
  type PreflightBlock,
  type PreflightInput,
  preflightBlock,
  readInputValues,
  remainingOf,
} from './judge/preflight.js'
export type { Proposal, TakenDraw, Verdict } from './judge/proposal.js'
export { judgeReceipts, type ReceiptBatch, type ReceiptResult } from './judge/receipts.js'
export {
  type Draw,
  type LimitKey,
  type LimitParty,
  limitIdFor,
  type NamedLimit,
  principalKey,
  provenKey,
  type SharedCounts,
} from './judge/rules/draws.js'
export {
  editedText,
  expiredText,
  notAskedText,
  refusedText,
  usedText,
  waitingText,
  withdrawnText,
} from './judge/rules/question-texts.js'
export { judgeSources, type SourceViolation } from './judge/rules/sources.js'
export type { AskedPeople, People } from './judge/rules/standing.js'
export {
  type CountChange,
  createSharedMemory,
  releasedDraws,
  type SharedMemory,
  sharedDraws,
} from './judge/shared-memory.js'
export { tripsOnBlock } from './judge/trips-on-block.js'
export { type ValidationResult, validateResponse } from './judge/validate.js'
export { upperBound } from './learn/bound.js'
export type { ObservedSession } from './learn/calibrate.js'
export {
  type Draft,
  type DraftOptions,
  draftContracts,
  type OfferedTool,
} from './learn/draft.js'
export type { Suggestion } from './learn/draft-suggestions.js'
export { fitSummary } from './learn/fit-summary.js'
export { forgetCall } from './learn/forget.js'
export { leaveOut } from './learn/leave-out.js'
export { type PlanUse, planRates } from './learn/plan-rates.js'
export { countOf } from './learn/sketch.js'
export {
  addCall,
  addColumns,
  mergeSummaries,
  newSummary,
  type ObservedCall,
  readSummary,
  type ToolSummary,
} from './learn/summary.js'
export { describeDraft, draftNotes, writeContract, writeSession } from './learn/write-contract.js'
export { chainEvent, createExportCheck, verifyChain, verifyExport } from './ledger/chain.js'
export { sealContradiction, sealsProblem } from './ledger/seals.js'
export {
  contradictionOf,
  headsDigest,
  ledgerKeyId,
  sealDigest,
  sealProblem,
  sealText,
  signedHeadProblem,
  signedHeadText,
} from './ledger/signatures.js'
export { type ChainCheck, GENESIS_HASH } from './ledger/verify-links.js'
export { chainWorkflowEvent, verifyWorkflowChain, verifyWorkflowExport } from './ledger/workflow-chain.js'
export { isInContainer, isRunByProvider, kindOfBlock } from './response/kinds.js'
export { type Cleaned, holdsCallShape, type WireFormat, withoutOddShapes } from './response/odd-shapes.js'
export {
  normalizeResponse,
  type ReadResponse,
  type ResponseFormat,
  readResponse,
} from './response/read-response.js'
export { type ResponseView, viewResponse } from './response/response-view.js'
export type { ProviderRun, ToolCall } from './response/tool-call.js'
export { readToolDefinitions, type ToolDefinition } from './starter/read-tool-definitions.js'
export { type PackFile, starterPack } from './starter/starter-pack.js'
export { applyEvent, foldEvents } from './state/apply-event.js'
export { applyProposal, type ProposalFacts } from './state/apply-proposal.js'
export { copyState } from './state/copy-state.js'
export {
  claimsProof,
  identityOf,
  isProven,
  PROOF_IS_RESERVED,
  type ProvenPrincipal,
  toldPrincipal,
} from './state/principal.js'
export { isOpenAt, type StateQuestion } from './state/questions.js'
export { type CreatedEvent, initialState } from './state/session-start.js'
export { forbiddenTools, snapshotOf } from './state/snapshot.js'
export type { OpenStep, PendingCall, SessionState } from './state/state.js'
export { isUnanswered } from './state/unanswered.js'
export { disguisesOf } from './text/alike-names.js'
export { closestName, suggestName } from './text/closest-name.js'
export { compileRegex, type Regex } from './text/regex.js'
