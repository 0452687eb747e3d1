import { parseStrictJson, saltedHash } from '@countersign/engine'
import type { JsonValue, Receipt } from '@countersign/protocol'
import { type RunCall, reportedReceipt, settledReceipt } from '../authority/receipts.js'
import type { MessageView } from '../providers/provider.js'

/** What a conversation says of the calls that its program ran by itself. */
export interface ReportedResults {
  /** A report of the call's outcome, with the values that contracts read of its result. */
  receiptFor(call: RunCall, callId: string, salt: string): Receipt
}

interface Said {
  readonly at: number
  readonly message: MessageView
}

export function readReportedResults(messages: readonly MessageView[]): ReportedResults {
  const results = new Map<string, Said>()
  const calls = new Map<string, { readonly at: number; readonly args: unknown }>()
  messages.forEach((message, at) => {
    if (message.callId !== null) results.set(message.callId, { at, message })
    for (const call of message.calls) calls.set(call.id, { at, args: call.arguments })
  })
  return {
    receiptFor(call, callId, salt) {
      const result = results.get(callId)
      const made = calls.get(callId)
      if (result === undefined || (made !== undefined && result.at < made.at)) return reportedReceipt(call, 'unknown')
      // Some providers use ids again: a result belongs to this call only if the arguments are the judged ones.
      if (made !== undefined && !isSame(made.args, call.argumentHash, salt)) return reportedReceipt(call, 'unknown')
      const { text, isError } = result.message
      return isError ? reportedReceipt(call, 'failed') : settledReceipt(call, 'succeeded', text, salt)
    },
  }
}

function isSame(args: unknown, argumentHash: string, salt: string): boolean {
  try {
    const value = typeof args === 'string' ? readArguments(args) : (args as JsonValue)
    return value !== undefined && saltedHash(salt, value) === argumentHash
  } catch {
    return false
  }
}

function readArguments(text: string): JsonValue | undefined {
  const parsed = parseStrictJson(text.trim() === '' ? '{}' : text)
  return parsed.ok ? parsed.value : undefined
}
