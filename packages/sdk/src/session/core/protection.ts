import { suggestName } from '@countersign/engine'
import type { Report } from '../../base/diagnostics.js'
import type { ReplaySettings } from '../../options/replay-settings.js'
import { protectionLevelOf, type SessionRules } from './session-rules.js'

/** Reports where a session does less than its options suggest. */
export function reportProtection(settings: ReplaySettings, rules: SessionRules, report: Report): void {
  const { sessionId: session_id, environment, emptyKey } = settings
  const isEnforced = rules.mode === 'enforce'
  if (emptyKey !== null) {
    const level = isEnforced ? 'protect' : 'monitor'
    report({ type: 'replay_protection_level', session_id, level, detail: `${emptyKey}: ${ALONE}` })
  }
  if (rules.unjudged) {
    report({ type: 'replay_protection_level', session_id, level: 'monitor', detail: unjudgedIn(environment) })
  }
  if (!isEnforced || rules.refusal !== null) return
  const detail = whyNotGoverned(settings, rules)
  if (detail !== null && emptyKey === null && settings.requireProtection !== 'protect') {
    report({ type: 'replay_protection_level', session_id, level: protectionLevelOf(rules), detail })
  }
  if (rules.governed && settings.store !== undefined) {
    report({ type: 'replay_protection_level', session_id, level: 'govern', detail: NO_STORE })
  }
  const warnings = [...toolsWithoutContract(settings, rules), ...openedByReport(settings, rules)]
  if (warnings.length > 0) report({ type: 'replay_compile_warning', warnings })
}

const ALONE = 'calls are evaluated only in this process and nothing is recorded'

const unjudgedIn = (environment: string): string =>
  `calls pass without being judged: there is no plan to judge by, and ${environment} is advisory; in production they are blocked`

const NO_STORE =
  'the option store is ignored: the server stores the state and the captures of a governed session; omit it, or omit apiKey'

function whyNotGoverned(
  { apiKey, hasKeyOption, agent, tools }: ReplaySettings,
  { governed, loaded }: SessionRules,
): string | null {
  if (governed) return null
  if (apiKey !== null)
    return 'without the option tools the server cannot govern the session: calls are evaluated only in this process'
  // Wrapped tools, or the name of an agent, are of use without a server as well: the program says whether it means that.
  const isExpected = hasKeyOption || tools !== null || (agent ?? loaded.plan.session.agent ?? null) !== null
  if (!isExpected) return null
  return (
    `there is no API key, so that ${ALONE}: set COUNTERSIGN_API_KEY or the option apiKey, or say ` +
    "requireProtection: 'protect' if that is meant"
  )
}

/** Preconditions that a mere report meets, because the tool that they require has no wrapper. */
function openedByReport({ tools, addsTools }: ReplaySettings, { loaded }: SessionRules): string[] {
  const { contracts } = loaded.plan
  if (tools === null || addsTools) return []
  return [...contracts.values()].flatMap(({ tool, preconditions }) =>
    preconditions.flatMap((item) => {
      if (item.kind !== 'tool' || tools.has(item.tool)) return []
      if (contracts.get(item.tool)?.commitRequirement !== 'reported') return []
      return [
        `${tool} requires ${item.tool}, which has no wrapper, so a result that the program reports is enough: ` +
          `add ${item.tool} to the option tools, or set commit_requirement: executed in its contract`,
      ]
    }),
  )
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
