import { saltedHash, triggeredCheckpoints } from '@countersign/engine'
import type { Decision, JsonObject, PendingCallView } from '@countersign/protocol'
import type { OpenCall } from '../authority/open-calls.js'
import { deepFreeze } from '../base/deep-freeze.js'
import { isObject } from '../base/json-object.js'
import { jsonOf } from '../base/written-json.js'
import type { SessionContext } from '../session/core/session-context.js'
import { allowVerdict, type CallVerdict } from '../session/core/verdicts.js'
import { isMeant as meansCall } from './match-call.js'

/** Whether the model's call of this tool, under this id, may be the one that is made. */
export type IsMeant = (toolName: string, callId: string) => boolean

/** Every face of a session sees its calls: one that a model proposed here may be made there, without its id. */
export function findProposed({ calls, verdicts }: SessionContext, isMeant: IsMeant, args: unknown): CallVerdict | null {
  const given = jsonOf(args === undefined ? {} : args)
  if (given === undefined) return null
  const open = calls.allowed().find((call) => isMeant(call.toolName, call.callId) && meansCall(call, given))
  return open === undefined ? verdicts.refused(isMeant, given) : allowVerdict(open)
}

/** What the server knows of calls that wait in the session. */
export interface Elsewhere {
  /** The call that is meant; null where none of another process waits, or one waits for a person, or has been claimed. */
  readonly call: CallVerdict | null
  /** Calls that this process waited for had been settled by another. */
  readonly hasSettled: boolean
}

/** A decision as old as can be: before the call runs, the server is asked once more. */
const LONG_AGO = (): number => Number.POSITIVE_INFINITY

/** Takes in the call that a model proposed through another process, known by its tool and the hash of its arguments. */
export async function findElsewhere(session: SessionContext, isMeant: IsMeant, args: unknown): Promise<Elsewhere> {
  const { calls } = session
  const authority = session.authority()
  // Before the server is asked: what is allowed meanwhile is not yet in its answer.
  const before = [...calls.allowed(), ...calls.asking()].filter(({ by }) => by === 'server')
  const waiting = await authority.pending()
  if (waiting === null) return { call: null, hasSettled: false }
  const ids = new Set(waiting.map(({ pending_call_id }) => pending_call_id))
  const settled = before.filter((call) => !ids.has(call.pendingCallId) && isOpen(call))
  for (const call of settled) calls.drop(call)
  const known = new Set([...calls.allowed(), ...calls.asking(), ...calls.running()].map(pendingIdOf))
  const given = jsonOf(args === undefined ? {} : args)
  if (!isObject(given)) return { call: null, hasSettled: settled.length > 0 }
  const hash = saltedHash(authority.saltOf('server'), given)
  const found = waiting.find(
    (call) =>
      isFree(call) &&
      !known.has(call.pending_call_id) &&
      isMeant(call.tool_name, call.call_id) &&
      call.argument_hash === hash,
  )
  if (found === undefined || asksProgram(session, found, given)) {
    const [meant, ...others] = calls.allowed().filter((call) => isMeant(call.toolName, call.callId))
    // The only call that may be meant, with other arguments: what the conversation says of it is no result of it.
    if (meant !== undefined && others.length === 0) meant.refused = true
    return { call: null, hasSettled: settled.length > 0 }
  }
  const call = openCallOf(session, found, deepFreeze(given))
  calls.add([call])
  return { call: allowVerdict(call), hasSettled: settled.length > 0 }
}

const isOpen = ({ state }: OpenCall): boolean => state === 'allowed' || state === 'asking'

const pendingIdOf = ({ pendingCallId }: OpenCall): string => pendingCallId

const isFree = ({ state, claimed, checkpoint_required }: PendingCallView): boolean =>
  state === 'pending' && claimed !== true && !checkpoint_required

/** The process that judged the call asks the person, and knows the answer. */
function asksProgram(
  { authority, settings }: SessionContext,
  { tool_name: tool, pending_call_id: idPrefix }: PendingCallView,
  args: JsonObject,
): boolean {
  const { plan } = authority()
  // What asks people was answered before the call was allowed.
  if (settings.asks !== null || plan.session.ask !== undefined) return false
  const triggered = triggeredCheckpoints(plan, { tool, arguments: args, idPrefix }, [])
  const checkpoints = plan.contracts.get(tool)?.checkpoints ?? []
  return triggered.some(({ checkpoint_id }) => {
    const index = Number(checkpoint_id.slice(checkpoint_id.lastIndexOf('#') + 1))
    return checkpoints[index]?.definition.ask === undefined
  })
}

function openCallOf({ authority }: SessionContext, call: PendingCallView, args: JsonObject): OpenCall {
  const { call_id, tool_name, pending_call_id, argument_hash, idempotency_key } = call
  const contract = authority().plan.contracts.get(tool_name)
  const decision: Decision = {
    index: 0,
    call_id,
    tool_name,
    decision: 'allow',
    pending_call_id,
    idempotency_key,
    argument_hash,
    reason: null,
    reasons: [],
    remedy: null,
    failures: [],
    contract_file: contract?.file ?? null,
    checkpoint_required: false,
    checkpoints: [],
    output_paths: [...(contract?.outputPaths ?? [])],
    commit_requirement: contract?.commitRequirement ?? 'executed',
  }
  return {
    callId: call_id,
    toolName: tool_name,
    arguments: args,
    takesText: false,
    decision,
    pendingCallId: pending_call_id,
    argumentHash: argument_hash,
    by: 'server',
    ageMs: LONG_AGO,
    approvals: [],
    answeredBefore: 0,
    state: 'allowed',
    refused: false,
  }
}
