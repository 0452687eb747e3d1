import type {
  CardEdit,
  Checkpoint,
  CompiledContract,
  CompiledSession,
  EvidenceLevel,
  JsonValue,
  Operator,
} from '@countersign/protocol'
import type { CompiledPath } from '../json/json-path.js'
import type { CompiledSchema } from '../json/schema/json-schema.js'
import type { PreparedPolicy } from './cedar.js'
import type { PreparedHours } from './hours.js'
import type { CannotJudge, OperatorTest } from './operators.js'
import type { SharedLimits } from './shared-limit.js'
import type { PreparedSource } from './source-rule.js'
import type { Conditional } from './when/condition.js'

/** A compiled session ready to judge with: every path, pattern, schema and policy is compiled once. */
export interface Plan {
  readonly hash: string
  /** What it keeps in memory, in bytes: an estimate from measured costs, the same for the same plan. */
  readonly weight: number
  readonly session: CompiledSession['session']
  readonly contracts: ReadonlyMap<string, PreparedContract>
  readonly phases: PhaseGraph | null
  readonly policy: PreparedPolicy | null
  readonly hours: readonly PreparedHours[]
  /** Limits beyond one session; null: there are none. */
  readonly shared: SharedLimits | null
  readonly usesPolicy: boolean
  /** Who its sessions act for must be proven. */
  readonly needsProof: boolean
  /** Some call adds labels with which new sessions of the same principal start. */
  readonly hasStickyLabels: boolean
  /** Some contract names a label. */
  readonly usesLabels: boolean
  readonly hasCheckpoints: boolean
  /** Some checkpoint asks members of the tenant. */
  readonly asksPeople: boolean
  /** The score from which an unusual call asks; null if the plan does not say. */
  readonly asksFrom: number | null
  /** Paths of the request that the input invariants of any contract read. */
  readonly inputPaths: readonly string[]
  /** Tool -> the tools whose use forbids it. */
  readonly forbiddenBy: ReadonlyMap<string, ReadonlySet<string>>
  readonly priceOf: (provider: string | null, model: string | null) => Price | null
  /** The longest that calls of these tools may take, including checkpoints: the lease must cover it. */
  readonly longestTimeoutMs: (tools: Iterable<string>) => number
}

/** The phases of a session and the moves between them. */
export interface PhaseGraph {
  readonly names: ReadonlySet<string>
  readonly initial: string
  readonly terminal: ReadonlySet<string>
  readonly moves: ReadonlyMap<string, ReadonlySet<string>>
}

export interface Price {
  readonly input: string
  readonly output: string
}

/** One contract, ready to judge with. */
export interface PreparedContract {
  readonly tool: string
  readonly file: string | undefined
  readonly definition: CompiledContract
  readonly argumentsSchema: CompiledSchema | null
  readonly inputInvariants: readonly PreparedInvariant[]
  readonly outputInvariants: readonly PreparedInvariant[]
  readonly argumentInvariants: readonly PreparedArgumentRule[]
  readonly executionConstraints: readonly PreparedInvariant[]
  readonly refs: readonly PreparedRef[]
  /** True if a value of a call must equal a binding: by `refs`, or by `ref` in an invariant. */
  readonly usesRefs: boolean
  readonly sources: readonly PreparedSource[]
  /** Of each column of its results, by path: the length of the longest text ever captured. */
  readonly longest: ReadonlyMap<string, number>
  /** The arguments whose values are keys, each once. */
  readonly keys: readonly CompiledPath[]
  /** Every name with the key that it is used under, each pair once: rules refer to them by their place here. */
  readonly slots: readonly KeyedName[]
  /** What a call of this tool keeps per key. */
  readonly keeps: readonly Keeping[]
  readonly preconditions: readonly PreparedPrecondition[]
  /** What a committed call of this tool proves for the preconditions of others. */
  readonly provides: readonly Provision[]
  readonly binds: readonly PreparedBind[]
  readonly establishes: readonly PreparedBind[]
  readonly aggregates: readonly PreparedAggregate[]
  readonly envelopes: readonly PreparedEnvelope[]
  readonly resources: readonly PreparedResource[]
  /** Labels with which the tool may not be called. */
  readonly denials: readonly PreparedLabel[]
  readonly addsLabels: readonly PreparedLabel[]
  readonly checkpoints: readonly PreparedCheckpoint[]
  readonly policy: PreparedPolicy | null
  readonly hours: readonly PreparedHours[]
  /** Some rule has conditions, checkpoints aside. */
  readonly isConditional: boolean
  readonly risk: 'allow' | 'block' | 'checkpoint'
  readonly commitRequirement: EvidenceLevel
  readonly rollsBack: boolean
  /** Paths of the result that the receipt must report. */
  readonly outputPaths: readonly string[]
}

export interface PreparedInvariant {
  readonly path: CompiledPath
  readonly tests: readonly {
    readonly operator: Operator
    readonly operand: JsonValue
    readonly test: OperatorTest
    readonly cannotJudge: CannotJudge
  }[]
  /** The binding that the value must equal. */
  readonly ref: string | null
  readonly message: string | undefined
}

/** An argument invariant that may apply only sometimes. */
export interface PreparedArgumentRule extends PreparedInvariant, Conditional {}

/** A label that denies a call, or that a call adds. */
export interface PreparedLabel extends Conditional {
  readonly label: string
}

export type PreparedPrecondition =
  | (Conditional & { readonly kind: 'steps'; readonly atLeast: number })
  | (Conditional & {
      readonly kind: 'tool'
      readonly key: string
      readonly tool: string
      readonly same: readonly CompiledPath[]
      readonly consumes: boolean
      /** Only the newest call counts. */
      readonly latest: boolean
      /** What its result must say, as the end of a sentence; empty for any result. */
      readonly result: string
    })

export interface Provision {
  readonly key: string
  readonly withOutput: readonly PreparedInvariant[]
  /** Where in this tool's arguments to find the values that the later call must repeat. */
  readonly same: readonly CompiledPath[]
  /** The call opens one later call and is then used up. */
  readonly consumed: boolean
  /** A run that does not meet the terms undoes what an earlier one proved. */
  readonly latest: boolean
}

/** Kinds of values that a session may keep per key. */
export type KeptKind = 'bindings' | 'envelopes' | 'aggregates'

export interface KeyedName {
  readonly name: string
  readonly key: CompiledPath
}

export interface Keeping {
  readonly kind: KeptKind
  readonly name: string
  /** How the state counts its keys: `bindings.order_iban`. */
  readonly countedAs: string
  readonly slot: number
}

/** A name that may have a key. */
export interface SlotUse {
  readonly name: string
  readonly key: CompiledPath | null
  /** The place in `slots`; -1 without a key. */
  readonly slot: number
}

export interface PreparedBind extends SlotUse {
  readonly from: 'output' | 'argument'
  readonly path: CompiledPath
  /** How a receipt names the rows in which the key and the path are read; null: there is one value. */
  readonly rows: string | null
}

export interface PreparedRef extends SlotUse, Conditional {
  readonly path: CompiledPath
}

export interface PreparedAggregate extends SlotUse, Conditional {
  readonly function: 'sum' | 'count' | 'max'
  readonly path: CompiledPath | null
  readonly bounds: readonly PreparedBound[]
}

/** What a total may be: a number, or the value established under a name. */
export interface PreparedBound {
  readonly operator: 'lte' | 'lt'
  readonly value: string | null
  /** The established value, under the aggregate's own key if it has one. */
  readonly ref: SlotUse | null
}

export interface PreparedEnvelope extends SlotUse, Conditional {
  readonly path: CompiledPath
  readonly direction: 'at_most' | 'at_least' | 'within'
  readonly tolerancePercent: string
}

export interface PreparedResource {
  /** Literal parts and paths, as in `order:{$.order_id}`. */
  readonly parts: readonly (string | CompiledPath)[]
  readonly mode: 'exclusive' | 'shared'
}

export interface PreparedCheckpoint extends Conditional {
  readonly definition: Checkpoint
  /** What a person who is asked may change. */
  readonly edits: readonly CardEdit[]
}
