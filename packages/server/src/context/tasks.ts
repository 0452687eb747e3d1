import type { CompileNote, Draft } from '@countersign/engine'
import type {
  Input,
  Outcome,
  PlanDetail,
  Reply,
  Routes,
  SideEffect,
  SurpriseLevel,
  UnmatchedPolicy,
} from '@countersign/protocol'
import { createThreadPool, type PoolLimits, TaskFailed, type ThreadPool } from '../base/work/thread-pool.js'
import { isStatementTimeout } from '../postgres/database-error.js'
import type { CaptureTexts } from '../store/captures/captures.js'
import type { LearnedToolChange, StoredOffer } from '../store/captures/learned-tools.js'
import type { PlanFile } from '../store/governance/governance-plans.js'
import type { CapturedScope } from '../store/runs/runs.js'

/**
 * What is computed in the worker thread (decision 0013). Large things travel as JSON text: this process hands it from the
 * database to the thread and back, and never parses it.
 */
export type Tasks = {
  /** Which of a batch's captures can be learned at once, counted from the first, and the tools that they tell of. */
  learnedTools: { input: readonly string[]; output: { captures: number; tools: string[] } }
  /** What changes of the first tools, as many as come to `atOnce` characters, and how many tools these are. */
  learnBatch: { input: BatchToLearn; output: LearnedBatch }
  forgetBatch: { input: BatchToForget; output: LearnedToolChange[] }
  /** Judges some captured conversations, and adds them to what was found so far. */
  judgePage: { input: PageToJudge; output: JudgedPage }
  /** The report of a run, as JSON. */
  reportRun: { input: Pick<PageToJudge, 'plan' | 'tally'>; output: string }
}

export type TaskThread = ThreadPool<Tasks>

/** The program of the thread, as it was built: also where tests run this file from its source. */
const PROGRAM = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/bundle/jobs-thread.js' : './jobs-thread.js',
  import.meta.url,
)

/** For learning and runs, which jobs do: one task at a time. */
const LIMITS_OF_JOBS: PoolLimits = {
  what: 'jobs of this tenant',
  threads: 1,
  timeLimitMs: 10_000,
  memoryMb: 256,
  waitingPerTenant: Infinity,
  waitingInAll: Infinity,
}

export const createTaskThread = (): TaskThread => createThreadPool<Tasks>(PROGRAM, LIMITS_OF_JOBS)

export interface ReadCaptures {
  /** How many are good, each id counted once, and how many ids came more than once. */
  readonly accepted: number
  readonly repeated: number
  readonly rejected: Reply<Routes['ingestCaptures']>['rejected']
  readonly agents: readonly string[]
  readonly texts: CaptureTexts
  readonly offered: readonly OfferedTool[]
}

/** A tool that an agent is offered. */
export interface OfferedTool {
  /** A hash of tenant, agent and name. */
  readonly key: string
  /** Null where no schema came along. */
  readonly schemaHash: string | null
  /** Agent, name and schema as JSON. */
  readonly row: string
}

export interface ReadRun {
  readonly runId: string
  /** What identifies the run: the same id with the same content gets the same reply. */
  readonly bodyHash: string
  readonly compiledHash: string
  /** The plan as JSON. Null where the body names one that is stored. */
  readonly compiled: string | null
  readonly unmatchedPolicy: UnmatchedPolicy
  /** Fixtures are JSON. */
  readonly against: CapturedScope | { readonly fixtures: string }
}

export type PackCompilation = CompiledPack | { readonly ok: false; readonly errors: readonly CompileNote[] }

/** A pack that compiles. */
export interface CompiledPack {
  readonly ok: true
  readonly hash: string
  /** The plan as JSON. */
  readonly compiled: string
  /** The file of each tool's contract. */
  readonly contractFiles: readonly (readonly [tool: string, file: string])[]
  readonly contracts: number
  /** How often the plan asks about unusual calls, if it says so. */
  readonly surprise: SurpriseLevel | undefined
  /** The compiler's warnings. */
  readonly advisories: PlanDetail['advisories']
}

export interface PlanComparison extends Pick<PlanDetail, 'changes' | 'blockers' | 'advisories'> {
  /** What the tools do, as the plan that would be replaced says. */
  readonly effectsBefore: ReadonlyMap<string, SideEffect>
}

export interface PlansToCompare {
  readonly pack: Pick<CompiledPack, 'compiled' | 'advisories'>
  /** The other plan as JSON; null if there is none. */
  readonly running: string | null
  /** What is known of the agent's tools; empty for an agent that was never observed. */
  readonly learned: readonly LearnedDraft[]
}

export interface LearnedDraft extends Pick<Draft, 'samples' | 'confidence'> {
  readonly tool: string
}

export interface PackAndPlan {
  readonly files: readonly PlanFile[]
  /** The plan in force, as JSON. */
  readonly running: string
}

export interface Playground {
  readonly body: Input<Routes['judgePlayground']>['body']
  readonly now: Date
}

export interface RunPlan {
  readonly hash: string
  /** The plan as JSON. */
  readonly compiled: string
  readonly unmatchedPolicy: UnmatchedPolicy
}

export interface PageToJudge {
  readonly plan: RunPlan
  readonly conversations: readonly { readonly conversationId: string; readonly items: readonly string[] }[]
  /** What earlier pages found; only the thread reads it. Null for the first page. */
  readonly tally: string | null
}

export interface JudgedPage {
  readonly tally: string
  /** Conversations judged so far. */
  readonly sessions: number
  /** How long this page took. */
  readonly ms: number
}

export interface ToolsToDraft {
  /** As they are stored, by the names of their tools. */
  readonly summaries: readonly string[]
  /** Tools that were called and whose summaries are not here are not among them. */
  readonly offered: readonly StoredOffer[]
  readonly salt: string
  /** The newest captures of the agent, as JSON: by them the draft measures itself. Null: it need not. */
  readonly captures: readonly string[] | null
  /** How often a person may be asked about unusual calls; null for the default. */
  readonly alpha: number | null
}

/** A learned contract, written out in the thread: as YAML, a megabyte of schema takes a third of a second. */
export interface DraftedTool extends LearnedDraft, Pick<Draft, 'falseBlockBound'> {
  readonly file: string
  readonly text: string
  /** The text without what was learned of the arguments, for a plan that would hold too much. */
  readonly bareText: string
  readonly words: readonly string[]
  readonly notes: readonly string[]
}

export interface DraftedTools {
  readonly drafts: readonly DraftedTool[]
  /** In how many sessions each summary's tool was seen. */
  readonly sessions: readonly number[]
  /** The session.yaml of a draft that measured itself, with its rates at the top; null for one that did not. */
  readonly session: string | null
}

export interface BatchToLearn {
  readonly captures: readonly CaptureToLearn[]
  readonly salt: string
  /** What is learned of: some of the tools that the captures tell of. */
  readonly tools: readonly ToolToLearn[]
  /** The longest that a summary may be, in characters. */
  readonly summarySize: number
  /** After so many characters of summaries no other is written out. */
  readonly atOnce: number
}

export interface ToolToLearn {
  readonly toolName: string
  /** As it is stored. Null for a new tool. */
  readonly summary: string | null
}

export interface LearnedBatch {
  readonly tools: number
  readonly changes: LearnedToolChange[]
}

export interface BatchToForget {
  /** Stored captures. */
  readonly items: readonly string[]
  /** The summaries of their tools as they are stored. */
  readonly summaries: readonly string[]
}

export interface CaptureToLearn {
  /** A stored capture. */
  readonly item: string
  /** Calls that have a receipt, by their id. Null where outcomes are unknown. */
  readonly outcomes: readonly (readonly [callId: string, outcome: Outcome])[] | null
}

/** Why a piece of work is to blame for what went wrong; null where it is not. `what` says what its statements do. */
export function ownFault(error: unknown, what: string): string | null {
  if (error instanceof TaskFailed) return error.message
  return isStatementTimeout(error) ? `${what} took longer than a statement may` : null
}
