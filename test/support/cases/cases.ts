import { readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import type {
  Block,
  BlockReason,
  Contract,
  ContractFailure,
  EvidenceLevel,
  Flows,
  Gate,
  JsonObject,
  JsonValue,
  NarrowingReason,
  Outcome,
  SessionDefinition,
  StateSnapshot,
  UnmatchedPolicy,
  Usage,
} from '@countersign/protocol'

/** Where a case can be run: on the engine alone, by the SDK without a server, by the server over HTTP. */
export type Face = 'engine' | 'local' | 'server'

/** A session as data: what its contracts are, what happens in it, and what must come of each step. */
export interface Case {
  readonly file: string
  readonly name: string
  readonly faces: readonly Face[]
  readonly contracts: readonly Contract[]
  readonly session: SessionDefinition | undefined
  readonly gate: Gate
  readonly unmatchedPolicy: UnmatchedPolicy
  readonly principal: JsonValue | undefined
  readonly labels: readonly string[]
  /** What is used of shared limits cannot be known, as in a process whose server is away. */
  readonly counts?: 'unknown' | undefined
  readonly steps: readonly Step[]
}

export type Step = TurnStep | ControlStep

/** Something that happens to the session between turns. */
export interface ControlStep {
  readonly label?: string
  /** Null clears it. */
  readonly filter?: readonly string[] | null
  readonly kill?: true
  readonly wait_seconds?: number
}

/** One model call: the response it brought, what must be decided, and what became of the allowed calls. */
export interface TurnStep {
  readonly calls: readonly CaseCall[]
  readonly finish_reason?: string
  readonly content?: string
  /** The whole response, where its form is what matters; `calls` is then empty. */
  readonly response?: JsonValue
  /** Offered to the model; by default every tool with a contract and every tool that is called. */
  readonly tools?: readonly string[]
  /** The request's body, for input invariants. */
  readonly request?: JsonObject
  readonly model?: string
  readonly usage?: Usage
  readonly flows?: Flows
  /** Held by other sessions. */
  readonly held?: readonly { readonly key: string; readonly mode: 'exclusive' | 'shared' }[]
  /** Blocked before the model is called, with this reason and detail. */
  readonly preflight?: { readonly reason: BlockReason; readonly detail: string }
  /** What preflight removes, by tool; where it is given, nothing else may be removed. */
  readonly removed?: Readonly<Record<string, NarrowingReason>>
  readonly outcome?: 'allowed' | 'partial' | 'blocked' | 'no_calls'
  readonly expect: readonly ExpectedDecision[]
  /** By call: what happened to it. A call without an entry has no receipt. */
  readonly then?: readonly (CaseEnd | null)[]
  readonly commits?: boolean
  /** Part of the snapshot after the step. */
  readonly state?: Partial<StateSnapshot>
  readonly status?: 'ACTIVE' | 'COMPROMISED' | 'KILLED'
  readonly labels?: readonly string[]
}

export interface CaseCall {
  readonly tool: string
  readonly args?: JsonObject
  /** The arguments as text, where their form is what matters. */
  readonly text?: string
  /** By default c1, c2, … through the case. */
  readonly id?: string
}

/** `allow`, `ask` (allowed, with a checkpoint), a block reason, or more about a block. */
export type ExpectedDecision =
  | 'allow'
  | 'ask'
  | BlockReason
  | {
      readonly reason: BlockReason
      /** All reasons in order; without it only the first is compared. */
      readonly reasons?: readonly BlockReason[]
      readonly detail?: string
      readonly failures?: readonly Partial<ContractFailure>[]
      /** A part of the remedy. */
      readonly remedy?: string
      /** What is left of the limit, and when there is room again. */
      readonly shared_limit?: NonNullable<Block['shared_limit']>
    }

export interface CaseEnd {
  readonly outcome?: Outcome
  readonly evidence?: EvidenceLevel
  readonly result?: JsonValue
  /** What the person who was asked said; `none` where nobody was asked. */
  readonly answer?: 'approve' | 'deny' | 'timeout'
  /** The tool ran with these instead of what was allowed. */
  readonly arguments?: JsonObject
  /** Why the call was stopped after it had been allowed. */
  readonly stopped?: BlockReason
}

interface CaseFile {
  readonly about: string
  readonly contracts?: readonly Contract[]
  readonly session?: SessionDefinition
  readonly cases: readonly WrittenCase[]
}

interface WrittenCase {
  readonly name: string
  readonly faces?: readonly Face[]
  readonly contracts?: readonly Contract[]
  readonly session?: SessionDefinition
  readonly gate?: Gate
  readonly unmatched_policy?: UnmatchedPolicy
  readonly principal?: JsonValue
  readonly labels?: readonly string[]
  readonly counts?: 'unknown'
  readonly steps?: readonly Step[]
  /** Short for one call of one tool: arguments that must be allowed, and arguments that must be blocked. */
  readonly allow?: readonly JsonObject[]
  readonly block?: readonly JsonObject[]
  readonly reason?: BlockReason
}

const folder = fileURLToPath(new URL('../../cases/', import.meta.url))

/** Every case of test/cases, or those that a face can run. */
export function loadCases(face?: Face): Case[] {
  const cases = caseFiles().flatMap((path) => {
    const written = JSON.parse(readFileSync(path, 'utf8'), unfold) as CaseFile
    return written.cases.flatMap((item) => expand(basename(path), written, item))
  })
  return face === undefined ? cases : cases.filter(({ faces }) => faces.includes(face))
}

/** The paths of the files in test/cases. */
export function caseFiles(): string[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.json'))
  return names.sort().map((name) => `${folder}${name}`)
}

/**
 * `{ "$repeat": "ab", "times": 4000 }` in a case is a long text, and of anything else a long list. `{ "$each": 64, "of": … }`
 * in a list stands for so many elements, each with its number in place of `#`.
 */
function unfold(_key: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.flatMap((item) => (isEach(item) ? item : [item]))
  const { $repeat, times = 0, $each, of } = (value ?? {}) as Folded
  if ($each !== undefined) return each($each, JSON.stringify(of))
  if ($repeat === undefined) return value
  return typeof $repeat === 'string' ? $repeat.repeat(times) : Array.from({ length: times }, () => $repeat)
}

interface Folded {
  readonly $repeat?: unknown
  readonly times?: number
  readonly $each?: number
  readonly of?: unknown
}

const eaches = new WeakSet<object>()

function each(count: number, text: string): unknown[] {
  const list = Array.from({ length: count }, (_, at) => JSON.parse(text.replaceAll('#', String(at))))
  eaches.add(list)
  return list
}

const isEach = (item: unknown): item is unknown[] => Array.isArray(item) && eaches.has(item)

function expand(file: string, about: CaseFile, written: WrittenCase): Case[] {
  const base = {
    file,
    faces: written.faces ?? (['engine', 'local', 'server'] as const),
    contracts: written.contracts ?? about.contracts ?? [],
    session: written.session ?? about.session,
    gate: written.gate ?? 'reject_all',
    unmatchedPolicy: written.unmatched_policy ?? 'block',
    principal: written.principal,
    labels: written.labels ?? [],
    counts: written.counts,
  } as const
  const cases: Case[] = written.steps === undefined ? [] : [{ ...base, name: written.name, steps: written.steps }]
  const tool = base.contracts[0]?.tool ?? ''
  const one = (args: JsonObject, expected: ExpectedDecision): Case => ({
    ...base,
    name: `${written.name}: ${expected === 'allow' ? 'takes' : 'refuses'} ${JSON.stringify(args)}`,
    steps: [{ calls: [{ tool, args }], expect: [expected] }],
  })
  cases.push(...(written.allow ?? []).map((args) => one(args, 'allow')))
  cases.push(...(written.block ?? []).map((args) => one(args, written.reason ?? 'argument_value_mismatch')))
  return cases
}

export const isTurn = (step: Step): step is TurnStep => 'expect' in step

/** What a face saw of one turn. */
export interface ObservedTurn {
  readonly preflight: { readonly reason: BlockReason; readonly detail?: string | undefined } | null
  readonly removed: Readonly<Record<string, NarrowingReason>>
  readonly outcome: string | null
  readonly decisions: readonly {
    readonly decision: 'allow' | 'block'
    readonly checkpoint_required: boolean
    readonly reasons: readonly Pick<Block, 'reason' | 'detail' | 'shared_limit'>[]
    readonly failures: readonly ContractFailure[]
    readonly remedy: string | null
  }[]
  /** By call, why it was stopped after it had been allowed. */
  readonly stopped: readonly (BlockReason | null)[]
  /** Null where no receipt was sent. */
  readonly committed: boolean | null
  readonly state: StateSnapshot
  readonly status: string
  readonly labels: readonly string[]
}

/** The response of a turn, in the normalized form that every face takes. */
export function responseOf(step: TurnStep, firstId: number): JsonValue {
  if (step.response !== undefined) return step.response
  return {
    tool_calls: step.calls.map(({ tool, args, text, id }, at) => ({
      id: id ?? `c${firstId + at}`,
      name: tool,
      arguments: text ?? JSON.stringify(args ?? {}),
    })),
    content: step.content ?? null,
    finish_reason: step.finish_reason ?? (step.calls.length > 0 ? 'tool_calls' : 'stop'),
    ...(step.usage === undefined ? {} : { usage: { ...step.usage } }),
  }
}

/** The tools of a turn's request. */
export function toolsOf(run: Case, step: TurnStep): string[] {
  if (step.tools !== undefined) return [...step.tools]
  return [...new Set([...run.contracts.map(({ tool }) => tool), ...step.calls.map(({ tool }) => tool)])]
}

/** What was expected of a turn and did not come, in the same shape on both sides, for `expect(...).toEqual`. */
export function compareTurn(step: TurnStep, seen: ObservedTurn): { expected: unknown; seen: unknown } {
  const expected: Record<string, unknown> = {}
  const got: Record<string, unknown> = {}
  const add = (key: string, wanted: unknown, found: unknown) => {
    if (wanted === undefined) return
    expected[key] = wanted
    got[key] = found
  }
  add('preflight', step.preflight ?? null, seen.preflight)
  add('removed', step.removed, seen.removed)
  if (step.preflight === undefined) {
    add('outcome', step.outcome, seen.outcome)
    add(
      'decisions',
      step.expect.map((decision) => wanted(decision)),
      seen.decisions.map((decision, at) => shown(decision, step.expect[at])),
    )
  }
  step.then?.forEach((end, at) => {
    add(`stopped ${at}`, end?.stopped ?? null, seen.stopped[at] ?? null)
  })
  add('commits', step.commits, seen.committed)
  add('status', step.status, seen.status)
  add('labels', step.labels, seen.labels)
  for (const [key, value] of Object.entries(step.state ?? {})) {
    add(`state.${key}`, value, seen.state[key as keyof StateSnapshot])
  }
  return { expected, seen: got }
}

function wanted(expected: ExpectedDecision): unknown {
  return typeof expected === 'string' ? expected : { ...expected }
}

/** A decision as far as the expectation asks for it. */
function shown(decision: ObservedTurn['decisions'][number], expected: ExpectedDecision | undefined): unknown {
  if (decision.decision === 'allow') return decision.checkpoint_required ? 'ask' : 'allow'
  const [first] = decision.reasons
  if (typeof expected !== 'object') return first?.reason
  const names = [...new Set(decision.reasons.map(({ reason }) => reason))]
  return {
    reason: first?.reason,
    ...(expected.reasons === undefined ? {} : { reasons: names }),
    ...(expected.detail === undefined ? {} : { detail: first?.detail }),
    ...(expected.shared_limit === undefined ? {} : { shared_limit: first?.shared_limit }),
    ...(expected.failures === undefined ? {} : { failures: shownFailures(decision.failures, expected.failures) }),
    ...(expected.remedy === undefined
      ? {}
      : { remedy: decision.remedy?.includes(expected.remedy) === true ? expected.remedy : decision.remedy }),
  }
}

function shownFailures(found: readonly ContractFailure[], wantedOnes: readonly Partial<ContractFailure>[]): unknown[] {
  return found.map((failure, at) => {
    const keys = Object.keys(wantedOnes[at] ?? failure) as (keyof ContractFailure)[]
    return Object.fromEntries(keys.map((key) => [key, failure[key]]))
  })
}
