import { checkExecution } from '@countersign/engine'
import type { Decision } from '@countersign/protocol'
import type { OpenCall } from '../authority/open-calls.js'
import type { SessionContext } from '../session/core/session-context.js'
import type { RegisteredCalls } from './register-calls.js'

/** Where no wrapper runs the tools, their constraints are checked before the program gets the calls. */
export function checkConstraints({ authority }: SessionContext, calls: RegisteredCalls): RegisteredCalls {
  const { plan } = authority()
  const stopped = new Map<Decision, OpenCall>()
  for (const call of calls.open) {
    const violated = checkExecution(plan, call.toolName, call.arguments)
    if (violated === null) continue
    const { reason, remedy, failures } = violated
    const decision: Decision = { ...call.decision, decision: 'block', reason, reasons: [violated], remedy, failures }
    stopped.set(call.decision, { ...call, decision })
  }
  if (stopped.size === 0) return calls
  return {
    decisions: calls.decisions.map((decision) => stopped.get(decision)?.decision ?? decision),
    open: calls.open.filter(({ decision }) => !stopped.has(decision)),
    asking: calls.asking,
    stopped: [...calls.stopped, ...stopped.values()],
  }
}
