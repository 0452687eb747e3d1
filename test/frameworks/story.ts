import type { ChainedEvent, Contract, JsonObject, JsonValue } from '@countersign/protocol'
import type { ReplayOptions, Session } from '../../packages/sdk/src/index.js'

/** One call that the scripted model makes. */
export interface ScriptedCall {
  readonly id: string
  readonly name: string
  readonly args: JsonObject
}

/** One answer of the scripted model. */
export interface ScriptedTurn {
  readonly calls?: readonly ScriptedCall[]
  readonly text?: string
  /** The model's API fails this often before it gives this answer; whoever calls it tries again. */
  readonly failures?: number
}

/** What a face is given: the model, the tools and the session. It adds nothing but its own loop. */
export interface Story {
  readonly turns: readonly ScriptedTurn[]
  /** The executors of the tools, by name. They are given the session that runs them. */
  readonly tools: Readonly<Record<string, (args: JsonObject, session: AgentSession) => unknown>>
  /** Options of the session, but for the tools. */
  readonly options: ReplayOptions
  readonly stream: boolean
  /** The program changes the arguments of these calls between the verdict and the run. */
  readonly changed: Readonly<Record<string, JsonObject>>
  /** The same, in the very object that the framework holds. */
  readonly changedInPlace: Readonly<Record<string, JsonObject>>
  /** What happens, in order: `judged` when a proposal was answered, `saw c1` when the program was shown a part of a call. */
  readonly log: string[]
}

/** What the program passes on as the arguments of a call. */
export function passedOn<Args extends object>(
  { changed, changedInPlace }: Pick<Story, 'changed' | 'changedInPlace'>,
  callId: string,
  args: Args,
): Args {
  const other = changed[callId] as Args | undefined
  return other ?? Object.assign(args, changedInPlace[callId])
}

/** What the model was sent in one request. */
export interface ModelRequest {
  readonly offered: readonly string[]
  /** The results of tools that the request holds, by call id, as text. */
  readonly results: Readonly<Record<string, string>>
}

export type AgentSession = Session<unknown>

/** An agent of one face. */
export interface Agent {
  readonly session: AgentSession
  /** Runs the loop of the framework until the model calls nothing more. */
  run(): Promise<unknown>
  requests(): readonly ModelRequest[]
  close(): Promise<unknown>
}

/** One way to govern a program. */
export interface Face {
  readonly name: string
  /** Why a case cannot be had here, by the id of the case. */
  readonly lacks: Readonly<Record<string, string>>
  /**
   * Why it judges calls but not requests, where that is so: then the model is asked in any case and offered every tool,
   * and reads of a server that is down in place of a tool's result.
   */
  readonly judgesOnlyCalls?: string
  /** Why each call of an answer is proposed and run before the next one is known, where that is so. */
  readonly seesOneCallAtATime?: string
  /** Makes the agent of a story, with a session of its own. */
  open(story: Story): Agent | Promise<Agent>
}

/** What the story of a case must come to, through every face. */
export interface Case {
  readonly id: string
  readonly name: string
  readonly contracts: readonly Contract[]
  readonly options?: ReplayOptions
  readonly stream?: boolean
  readonly changed?: Story['changed']
  readonly changedInPlace?: Story['changedInPlace']
  readonly turns: readonly ScriptedTurn[]
  /** Tools that throw, by name. */
  readonly failing?: readonly string[]
  /** Tools that never end by themselves, and do not look at their signal, by name. */
  readonly hanging?: readonly string[]
  /** How many runs of the agent go on at once, on the one session. Default: 1. */
  readonly runs?: number
  /** Tools that return nothing, by name. */
  readonly silent?: readonly string[]
  /** What becomes of the calls of a tool with the same arguments, in order, by `tool {"arguments"}`. */
  readonly outcomes?: Readonly<
    Record<
      string,
      readonly {
        readonly fails: boolean
        readonly result: JsonValue
        readonly answer: 'approve' | 'deny' | 'timeout'
      }[]
    >
  >
  /** A person is asked. */
  readonly asks?: boolean
  /** The calls of one answer are judged together. */
  readonly together?: boolean
  readonly serverIsDown?: true
  /** The process is lost when a tool has run, before the server hears of it; another one takes the session over. */
  readonly diesAfterRun?: true
  /** The tool `ask` runs another agent, in the role of the payer, whose model answers this. */
  readonly subAgent?: { readonly turns: readonly ScriptedTurn[]; readonly ledger: readonly LedgerLine[] }
  readonly expected: {
    /** The tools offered to the model, per request. */
    readonly offered: readonly (readonly string[])[]
    /** The executions, as `tool {"arguments"}`, in any order. */
    readonly ran: readonly string[]
    /** What the next request says of these calls. */
    readonly told: Readonly<Record<string, string>>
    readonly ledger: readonly LedgerLine[]
  }
}

/** An event of the ledger without ids, hashes and times: what must be the same through every face. */
export type LedgerLine = string

/** The ledger as lines: `proposal c1 pay block argument_value_mismatch`, `receipt pay succeeded executed`. */
export function ledgerLines(events: readonly ChainedEvent[]): LedgerLine[] {
  const names = new Map<string, string>()
  return events.flatMap(({ type, body }) => {
    // Who runs a call is not what was decided about it, nor what became of it.
    if (type === 'created' || type === 'claimed') return []
    if (type === 'proposal') return proposalLines(body, names)
    if (type === 'receipts') return receiptLines(body, names)
    return [type]
  })
}

interface LedgerCall {
  readonly call_id: string
  readonly tool_name: string
  readonly decision: string
  readonly pending_call_id: string | null
  readonly reasons: readonly string[]
}

function proposalLines({ calls }: JsonObject, names: Map<string, string>): LedgerLine[] {
  return (calls as unknown as LedgerCall[]).map(({ call_id, tool_name, decision, pending_call_id, reasons }) => {
    if (pending_call_id !== null) names.set(pending_call_id, call_id)
    return ['proposed', call_id, tool_name, decision, ...reasons].join(' ')
  })
}

/** The receipts of one turn may come together or one by one, and in any order: each is one line, sorted within its event. */
function receiptLines({ receipts }: JsonObject, names: Map<string, string>): LedgerLine[] {
  return (receipts as { pending_call_id: string; outcome: string; evidence_level: string; approvals: unknown[] }[])
    .map(({ pending_call_id, outcome, evidence_level, approvals }) =>
      [
        'receipt',
        names.get(pending_call_id),
        outcome,
        evidence_level,
        ...(approvals as { decision: string }[]).map(({ decision }) => decision),
      ].join(' '),
    )
    .sort()
}
