import { suggestName } from '@countersign/engine'
import type { Report } from '../base/diagnostics.js'
import type { ReplaySettings } from '../options/replay-settings.js'
import type { SessionRules } from './session-rules.js'

/** Reports where a session that enforces does less than its options suggest. */
export function reportProtection(settings: ReplaySettings, rules: SessionRules, report: Report): void {
  if (rules.mode !== 'enforce' || rules.refusal !== null) return
  const detail = whyNotGoverned(settings, rules)
  if (detail !== null) {
    report({ type: 'replay_protection_level', session_id: settings.sessionId, level: 'protect', detail })
  }
  const warnings = toolsWithoutContract(settings, rules)
  if (warnings.length > 0) report({ type: 'replay_compile_warning', warnings })
}

function whyNotGoverned({ apiKey, isKeyEmpty }: ReplaySettings, { governed }: SessionRules): string | null {
  if (governed) return null
  if (apiKey !== null)
    return 'without the option tools the server cannot govern the session: calls are evaluated only in this process'
  if (isKeyEmpty) {
    return 'the option apiKey is empty and COUNTERSIGN_API_KEY is not set: calls are evaluated only in this process'
  }
  return null
}

function toolsWithoutContract({ tools, unmatchedPolicy }: ReplaySettings, { loaded }: SessionRules): string[] {
  if (tools === null || unmatchedPolicy !== 'block') return []
  const { contracts } = loaded.plan
  return [...tools.keys()]
    .filter((name) => !contracts.has(name))
    .map(
      (name) => `no contract covers the tool ${name}, so its calls are blocked: ${suggestName(name, contracts.keys())}`,
    )
}
