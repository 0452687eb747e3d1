import type { Decision } from '@countersign/protocol'
import type { SessionCore } from './session-core.js'

/** Tells the program which policies failed instead of deciding, once for each tool. The model is never told. */
export function reportPolicyErrors({ report, settings }: SessionCore): (blocked: readonly Decision[]) => void {
  const reported = new Set<string>()
  return (blocked) => {
    for (const { tool_name, reasons } of blocked) {
      const failed = reasons.find(({ detail }) => detail === 'policy_error')
      if (failed === undefined || reported.has(tool_name)) continue
      reported.add(tool_name)
      const detail =
        `the policy for ${tool_name} failed on its call, which is blocked: it reads what the principal or the arguments do ` +
        'not have, or compares what cannot be compared; ask with has first'
      const contract_file = failed.contract_file ?? null
      report({ type: 'replay_policy_error', session_id: settings.sessionId, tool_name, contract_file, detail })
    }
  }
}
