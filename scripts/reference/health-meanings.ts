import type { HealthSnapshot } from '@countersign/sdk'

type Named = 'status' | 'authorityState' | 'protectionLevel' | 'durability' | 'tier' | 'compatEnforcement'

/** What each value of `getHealth()` means, and nothing else. */
export const HEALTH_MEANINGS: {
  readonly [Field in Named | 'governanceAttachment']: Readonly<Record<NonNullable<HealthSnapshot[Field]>, string>>
} = {
  status: {
    healthy: 'The session takes calls, and everything it relies on works.',
    degraded:
      'The session takes calls with less than it should have, or refuses them for now: the server cannot be reached, receipts wait, calls are in doubt, there is no plan, the client was bypassed.',
    inactive: 'The session takes no more calls: it was killed or restored, or another holder has it.',
  },
  authorityState: {
    active:
      'Decisions are made and enforced. While the server cannot be asked and `onError` is `block`, every call is blocked.',
    advisory: 'Decisions are made and reported, and change nothing.',
    inactive:
      'No authority decides: the plan is still looked up or there is none (in production every call is then refused, in staging it passes), the session would protect less than `requireProtection` asks for (every call is then refused), the mode is `log-only`, or the session has ended.',
    recovering: 'Calls of an earlier holder have no outcome yet. They are resolved before the next turn.',
    compromised: 'The client was bypassed, or a tool ran with other arguments. The server takes no more writes.',
    killed: 'The session was killed.',
  },
  protectionLevel: {
    monitor: 'Nothing is blocked.',
    protect: 'Calls are blocked by this process.',
    govern: 'Calls are blocked by the server, which records them. While it cannot be asked, all are blocked.',
  },
  durability: {
    server: 'The server answers, and holds whatever state there is.',
    'degraded-local':
      'The state is in this process only: the server has not answered yet, cannot be reached or has not received everything, or it gave the plan and, without the option `tools`, does not govern the session.',
    inactive: 'No server is asked: there is no API key, or this process decides by contracts of the program.',
  },
  tier: {
    strong: 'The server decides. While it cannot be asked, no calls are decided.',
    compat: 'This process decides.',
  },
  compatEnforcement: {
    protective: 'What this process decides is enforced.',
    advisory: 'What this process decides is only reported.',
  },
  governanceAttachment: {
    pending: 'The approved plan is being looked up.',
    no_plan: 'There is no approved plan for the agent and environment.',
    attached: 'The approved plan is in force.',
    artifact_invalid: 'The plan does not match its hash, or cannot be read.',
    attachment_failed: 'The plan needs an option that is missing, such as `principal` or `onCheckpoint`.',
    fetch_failed: 'The lookup was not answered. The next turn tries again.',
  },
}

/** What each number and flag of `getHealth()` counts or tells. */
export const HEALTH_FACTS: Readonly<Record<Exclude<keyof HealthSnapshot, keyof typeof HEALTH_MEANINGS>, string>> = {
  cluster_detected: 'Several copies of the program may run, each with a local state of its own.',
  bypass_detected: 'The original client was called directly.',
  totalSteps: 'Committed steps.',
  totalBlocks:
    'Blocks that were made, as `totalBlockCount` of `getState()` counts them: one for each turn with blocked calls, whether at preflight, by the decision, by a person or by the wrapper. A session that only watches or advises makes none.',
  totalErrors: 'Failures of the server, of captures, of callbacks and of judgements that block nothing.',
  shadowEvaluations: 'Turns that were judged in shadow mode.',
  killed: 'The session was killed.',
  unresolvedReceiptCount: 'Calls without a final receipt on the server; absent if it does not govern.',
  totalUnguardedCalls:
    "Turns that were decided here while the server could not be asked (`onError: 'allow'`). They are not in its record, also when it is back; absent if it does not govern.",
}
