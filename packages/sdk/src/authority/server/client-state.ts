/**
 * Everything that decides what the governed client may do. Each aspect is in one named mode, and `MOVES` lists the ways
 * from one mode to the next.
 */
export interface ClientState {
  /** `unanswered`: the server did not answer the create, so the session may exist there. `refused`: it is not ours. */
  readonly session: 'unopened' | 'unanswered' | 'refused' | 'open'
  /** `away`: the server did not answer last time. `alone`: calls are decided here until it answers again. */
  readonly server: 'reachable' | 'away' | 'alone'
  /** `behind`: the server may know more than the replica, which must catch up before it is trusted. */
  readonly replica: 'exact' | 'behind'
  /** `lost`: the server may have accepted a proposal whose answer never came; then its calls wait, and nobody runs them. */
  readonly answer: 'received' | 'lost'
  /** `in_doubt`: an earlier holder left calls behind, and their outcome is not known yet. */
  readonly earlierCalls: 'resolved' | 'in_doubt'
  /** Why the session takes no more calls. `lost`: another holder has it. Only a kill is final. */
  readonly stop: 'none' | 'compromised' | 'lost' | 'killed'
}

export type ClientEvent =
  | 'create_unanswered'
  | 'create_refused'
  /** The server has opened the session: one without a history, or one that the replica does not know yet. */
  | 'opened_fresh'
  | 'opened_with_history'
  | 'server_failed'
  /** A call was decided here for want of the server. */
  | 'decided_here'
  /** The server has prepared or blocked a request. */
  | 'server_decided'
  | 'replica_diverged'
  | 'replica_caught_up'
  | 'answer_lost'
  | 'lost_answer_resolved'
  | 'doubt_found'
  | 'doubt_resolved'
  | 'compromised'
  | 'holder_lost'
  | 'killed'

export const INITIAL_STATE: ClientState = {
  session: 'unopened',
  server: 'reachable',
  replica: 'exact',
  answer: 'received',
  earlierCalls: 'resolved',
  stop: 'none',
}

type Moves<Mode extends string> = Readonly<Record<Mode, Readonly<Partial<Record<ClientEvent, Mode>>>>>

const OPENING = {
  create_unanswered: 'unanswered',
  create_refused: 'refused',
  opened_fresh: 'open',
  opened_with_history: 'open',
} as const
const KNOWING = {
  opened_fresh: 'exact',
  opened_with_history: 'behind',
  replica_diverged: 'behind',
  replica_caught_up: 'exact',
} as const

/** An event that an aspect knows at all must be listed for the mode that the aspect is in. */
export const MOVES: { readonly [Aspect in keyof ClientState]: Moves<ClientState[Aspect]> } = {
  session: { unopened: OPENING, unanswered: OPENING, refused: OPENING, open: {} },
  server: {
    reachable: { server_failed: 'away', server_decided: 'reachable' },
    away: { server_failed: 'away', decided_here: 'alone', server_decided: 'reachable' },
    alone: { server_failed: 'alone', decided_here: 'alone', server_decided: 'reachable' },
  },
  replica: { exact: KNOWING, behind: KNOWING },
  answer: {
    received: { answer_lost: 'lost', lost_answer_resolved: 'received' },
    lost: { answer_lost: 'lost', lost_answer_resolved: 'received' },
  },
  earlierCalls: {
    resolved: { doubt_found: 'in_doubt', doubt_resolved: 'resolved' },
    in_doubt: { doubt_found: 'in_doubt', doubt_resolved: 'resolved' },
  },
  stop: {
    none: { compromised: 'compromised', holder_lost: 'lost', killed: 'killed' },
    compromised: { compromised: 'compromised', holder_lost: 'lost', killed: 'killed' },
    lost: { compromised: 'compromised', holder_lost: 'lost', killed: 'killed' },
    killed: { compromised: 'killed', holder_lost: 'killed', killed: 'killed' },
  },
}

const ASPECTS = Object.keys(MOVES) as (keyof ClientState)[]

/** The state after an event. Throws where the table has no such move. */
export function nextState(state: ClientState, event: ClientEvent): ClientState {
  const next: Record<string, string> = { ...state }
  let isKnown = false
  for (const aspect of ASPECTS) {
    const moves: Moves<string> = MOVES[aspect]
    const mode = moves[state[aspect]]?.[event]
    if (mode !== undefined) next[aspect] = mode
    else if (knows(moves, event)) throw new ImpossibleMove(aspect, state[aspect], event)
    isKnown ||= mode !== undefined
  }
  if (!isKnown) throw new ImpossibleMove('state', JSON.stringify(state), event)
  return next as unknown as ClientState
}

const knows = (moves: Moves<string>, event: ClientEvent): boolean => Object.values(moves).some((from) => event in from)

export class ImpossibleMove extends Error {
  override readonly name = 'ImpossibleMove'

  constructor(aspect: string, mode: string, event: ClientEvent) {
    super(`internal error: ${event} is no move from ${aspect} ${mode}`)
  }
}

/** The one state of a governed client, and the only way to change it. */
export interface ClientStateHolder {
  now(): ClientState
  move(event: ClientEvent): void
}

/** After an impossible move the state is not known, so the client takes no more calls. */
export function createClientState(onImpossible: (error: Error) => void): ClientStateHolder {
  let state = INITIAL_STATE
  return {
    now: () => state,
    move(event) {
      try {
        state = nextState(state, event)
      } catch (error) {
        state = nextState(state, 'compromised')
        onImpossible(error as Error)
      }
    },
  }
}
