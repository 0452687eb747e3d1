import {
  type Contract,
  confidenceOf,
  LIMITS,
  type Otherwise,
  type SideEffect,
  type SourceRule,
} from '@countersign/protocol'
import { upperBound } from './bound.js'
import { type DeclaredValue, declaredTexts, readDeclared } from './declared-schema.js'
import { draftRefs, type LearnedRef } from './draft-refs.js'
import { draftSchema } from './draft-schema.js'
import {
  choiceSource,
  defaultSource,
  draftSource,
  isGuardedEffect,
  learnedColumns,
  type SourceLearning,
} from './draft-sources.js'
import { draftSuggestions, type Suggestion, suggestRef } from './draft-suggestions.js'
import { requestGroups } from './request-groups.js'
import { sessionsAtRisk } from './risk.js'
import { ASK_UNTIL_SET, type GuessedEffect, guessSideEffect } from './side-effect.js'
import { poolByName, type ToolSummary } from './summary.js'

/** A tool that the agent was offered, as its requests describe it. */
export interface OfferedTool {
  readonly name: string
  /** JSON Schema of the arguments. */
  readonly schema?: unknown
  /** Declared by its owner; otherwise guessed from the name. */
  readonly sideEffect?: SideEffect
}

/** A learned contract, with what a person should know before approving it. */
export interface Draft {
  readonly contract: Contract
  readonly confidence: 'low' | 'medium' | 'high'
  readonly samples: number
  /**
   * Upper 95 % limit of the share of future sessions in which this contract blocks a good call. Estimated on a sample
   * of the sessions seen: those that would have been blocked had they not been learned from.
   */
  readonly falseBlockBound: number
  /** Origins in the sessions learned from that the rules would have blocked, for lack of support. */
  readonly wouldBlock: readonly string[]
  /** Learned flows from free text: each lets the author of that text choose a value. */
  readonly openings: readonly string[]
  /** Rules that would wrongly block too many of their own captures, and ask instead. */
  readonly demoted?: readonly string[]
  /** Rules that always held, but too rarely to enforce without asking. */
  readonly suggestions: readonly Suggestion[]
  /** Everything learned beyond name and side effect is left out. */
  readonly shortened?: true
}

/** What drafting depends on besides the summaries. */
export interface DraftOptions {
  /** The agent's: known values are stored as hashes under it. */
  readonly salt: string
  readonly otherwise: Otherwise
  readonly offered?: readonly OfferedTool[]
}

/** Drafts a contract for every tool that was called or offered, from what was learned about all. Sorted by tool. */
export function draftContracts(summaries: readonly ToolSummary[], options: DraftOptions): Draft[] {
  const byTool = new Map(summaries.map((summary) => [summary.tool, summary]))
  const offered = new Map((options.offered ?? []).map((tool) => [tool.name, tool]))
  const guessOf = (tool: string): GuessedEffect => {
    const declared = offered.get(tool)?.sideEffect
    return declared === undefined ? guessSideEffect(tool) : { effect: declared, isKnown: true }
  }
  const effectOf = (tool: string) => guessOf(tool).effect
  const columns = new Map(summaries.map((summary) => [summary.tool, learnedColumns(summary)]))
  const learning: SourceLearning = {
    pool: poolByName(summaries.filter(({ tool }) => isGuardedEffect(effectOf(tool)))),
    salt: options.salt,
    otherwise: options.otherwise,
    requests: requestGroups(summaries.map(({ words }) => words)),
    columnsOf: (tool) => columns.get(tool) ?? null,
    isGuarded: (tool) => isGuardedEffect(effectOf(tool)),
  }
  const tools = [...new Set([...byTool.keys(), ...offered.keys()])].sort()
  const drafts: Draft[] = []
  for (const tool of tools) {
    const summary = byTool.get(tool)
    const declared = readDeclared(offered.get(tool)?.schema)
    drafts.push(draftOne({ tool, summary, ...guessOf(tool), declared }, learning))
  }
  return withRefs(drafts, draftRefs(summaries, learning.requests))
}

interface Subject extends GuessedEffect {
  readonly tool: string
  readonly summary: ToolSummary | undefined
  readonly declared: DeclaredValue
}

function draftOne(subject: Subject, learning: SourceLearning): Draft {
  const { tool, summary, effect, isKnown, declared } = subject
  const samples = summary?.samples ?? 0
  const requests = summary === undefined ? 0 : learning.requests.count(summary.requests)
  const contract: Contract = { tool, source: 'inferred', side_effect: effect }
  if (!isKnown) contract.checkpoint = ASK_UNTIL_SET
  if (summary !== undefined && Object.keys(summary.shape.types).length > 0) {
    contract.arguments = draftSchema(
      summary.shape,
      {
        closed: requests >= LIMITS.mediumConfidenceSamples,
        proven: upperBound(0, requests) <= MAX_RULE_RISK,
        scalarsForLists: !isGuardedEffect(effect),
      },
      declared,
    )
  }
  const sources = isGuardedEffect(effect) ? draftSources(contract, subject, learning) : []
  if (sources.length > 0) contract.sources = sources
  const columns = learning.columnsOf(tool) ?? []
  if (columns.length > 0) contract.columns = [...columns]
  const risk = summary === undefined ? null : sessionsAtRisk(summary, sources, learning)
  return {
    contract,
    confidence: confidenceOf(samples),
    samples,
    falseBlockBound: risk === null ? 1 : upperBound(risk.atRisk, risk.sessions),
    wouldBlock: risk?.wouldBlock ?? [],
    openings: sources.flatMap(openingsOf),
    suggestions: summary === undefined ? [] : draftSuggestions(summary),
  }
}

/**
 * A rule that never failed is enforced without asking if the upper limit of what it would block wrongly is below this.
 * A contract has many enums, ranges and spellings, so each of them has to be nearly certain.
 */
const MAX_RULE_RISK = 0.02

/** One rule for each argument that was seen or declared, and one for all others. */
function draftSources(
  contract: Contract,
  { summary, effect, declared }: Subject,
  learning: SourceLearning,
): SourceRule[] {
  const flows = new Map(summary?.flows.entries ?? [])
  const texts = declaredTexts(contract.arguments === undefined ? declared : readDeclared(contract.arguments))
  const rules = [...new Set([...flows.keys(), ...texts.keys()])]
    .sort()
    .map((path) =>
      texts.get(path) === 'choice'
        ? choiceSource(path, learning)
        : draftSource({ path, effect, flow: flows.get(path) }, learning),
    )
  return [...rules, defaultSource(learning)]
}

function openingsOf({ path, from }: SourceRule): string[] {
  return from
    .filter((origin) => typeof origin === 'object' && 'result' in origin)
    .map(
      ({ result, path: place, as }) => `${path} may be taken from ${as ?? 'cell'} ${place} of the results of ${result}`,
    )
}

/** Equality over many requests is no coincidence, but it blocks: at most one request in twenty may differ. */
const MAX_REF_RISK = 0.05

/**
 * A ref needs two contracts: the one whose result is bound, and the one whose argument must equal it. A ref that held
 * too rarely to be enforced is a suggestion.
 */
function withRefs(drafts: readonly Draft[], learned: readonly LearnedRef[]): Draft[] {
  const byTool = groupBy(learned, ({ tool }) => tool)
  const byBinder = groupBy(learned.filter(isSafe), ({ boundBy }) => boundBy)
  return drafts.map((draft) => {
    const refs = byTool.get(draft.contract.tool) ?? []
    const binds = byBinder.get(draft.contract.tool) ?? []
    if (refs.length + binds.length === 0) return draft
    const suggestions = [...draft.suggestions, ...refs.filter((ref) => !isSafe(ref)).map(suggestRef)]
    const byName = new Map(
      binds.map(({ name, resultPath }) => [name, { name, from: 'output' as const, path: resultPath }]),
    )
    const own = refs.filter(isSafe).map(({ path, name }) => ({ path, ref: name }))
    const contract: Contract = { ...draft.contract }
    if (byName.size > 0) contract.binds = [...byName.values()]
    if (own.length > 0) contract.refs = own
    return { ...draft, contract, suggestions }
  })
}

const isSafe = ({ falseBlockBound }: LearnedRef): boolean => falseBlockBound <= MAX_REF_RISK

function groupBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, Item[]> {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group === undefined) groups.set(keyOf(item), [item])
    else group.push(item)
  }
  return groups
}
