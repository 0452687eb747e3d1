import type { DecidedBy } from '../../authority/authority.js'
import type { Report } from '../../base/diagnostics.js'
import { ReplayConfigError } from '../../base/errors.js'
import { OPTIONS } from '../../options/option-table.js'
import type { CompatEnforcement, Mode, ProtectionLevel } from '../../options/replay-options.js'
import type { ReplaySettings } from '../../options/replay-settings.js'
import { ATTACHED_AS, type Attachment, type AttachmentState } from './attachment.js'
import { checkPlanUse, emptyPlan, hasContracts, type LoadedPlan, loadPlan } from './load-plan.js'
import { type CheckProvider, createProviderCheck } from './provider-pattern.js'

/** What a verdict does: it binds, it is reported, it is recorded, or there is none. */
export type Stance = 'enforce' | 'advise' | 'shadow' | 'log'

/** What a session goes by: the plan, and what its judgements do. */
export interface SessionRules {
  readonly loaded: LoadedPlan
  readonly mode: Mode
  readonly compat: CompatEnforcement
  /** The server decides. */
  readonly governed: boolean
  /** Why every call is refused; null when calls can be judged. */
  readonly refusal: Refusal | null
  /** Calls pass although the session was to enforce. */
  readonly unjudged: boolean
  /** Null where contracts were given, so that no plan is looked up. */
  readonly attachment: AttachmentState | null
  /** Throws when a constraint forbids this provider or model. */
  readonly checkProvider: CheckProvider
}

interface Refusal {
  readonly message: string
  /** What the lookup of the plan failed with; absent where it was answered. */
  readonly cause?: unknown
}

/** The rules at the start: from the contracts given, or none yet while the approved plan is looked up. */
export function firstRules(settings: ReplaySettings, report: Report): SessionRules {
  const compat = settings.compatEnforcement ?? OPTIONS.replay.compatEnforcement.default
  const mode = settings.mode ?? OPTIONS.replay.mode.default
  const given = hasContracts(settings)
  const loaded = given ? loadPlan(settings, report) : emptyPlan()
  if (given) checkPlanUse(loaded, settings, mode === 'enforce')
  const governed = given && isGoverned(settings, mode)
  const checkProvider = providerCheckOf(settings, loaded, report)
  const rules = { loaded, mode, compat, governed, refusal: null, unjudged: false, attachment: null, checkProvider }
  if (given || mode === 'log-only') {
    const tooWeak = tooWeakFor(settings, rules)
    if (tooWeak !== null) throw new ReplayConfigError(tooWeak, null)
    return rules
  }
  if (settings.apiKey === null) {
    throw new ReplayConfigError(
      'there are no contracts: pass contracts or contractsDir, or an apiKey to look up the approved plan',
      'compilation_failed',
    )
  }
  return { ...rules, mode: settings.mode ?? ATTACHED_AS[settings.environment].mode, attachment: 'pending' }
}

/** The rules once the lookup has answered. Explicit options win over what the environment suggests. */
export function attachedRules(settings: ReplaySettings, found: Attachment, report: Report): SessionRules {
  const { state: attachment, detail, cause } = found
  const usual = ATTACHED_AS[settings.environment]
  const compat = settings.compatEnforcement ?? usual.compat
  const mode = settings.mode ?? usual.mode
  const loaded = found.loaded ?? emptyPlan()
  const checkProvider = providerCheckOf(settings, loaded, report)
  if (found.loaded !== null) {
    const governed = isGoverned(settings, mode)
    const message = tooWeakFor(settings, { mode, compat, governed })
    const refusal = message === null ? null : { message }
    return { loaded, mode, compat, governed, refusal, unjudged: false, attachment, checkProvider }
  }
  // Without a plan a session that would only watch has nothing to judge by, and goes on capturing.
  const isEnforced = mode === 'enforce' && !isAdvised(settings, compat, attachment)
  const isRefused = isEnforced || settings.requireProtection !== 'monitor'
  const refusal = isRefused ? { message: refusalFor(settings, detail), cause } : null
  const unjudged = refusal === null && mode === 'enforce'
  const watched = refusal === null ? 'log-only' : mode
  return { loaded, mode: watched, compat, governed: false, refusal, unjudged, attachment, checkProvider }
}

/** What a verdict of this one does in a session with these rules. */
export function stanceOf({ mode, governed, compat }: SessionRules, by: DecidedBy): Stance {
  if (mode === 'log-only') return 'log'
  if (mode === 'shadow') return 'shadow'
  return (governed && by === 'server') || compat === 'protective' ? 'enforce' : 'advise'
}

function providerCheckOf(settings: ReplaySettings, { plan }: LoadedPlan, report: Report): CheckProvider {
  const constraints = [settings.providerConstraints, plan.session.provider_constraints]
  return createProviderCheck(constraints, { report, sessionId: settings.sessionId })
}

/** There is no service or no plan. What else can fail is the program's own fault, and is shown before production. */
const MISSING: ReadonlySet<AttachmentState> = new Set(['no_plan', 'artifact_invalid', 'fetch_failed'])

/** Outside of production, advisory compatibility lets calls pass where there is nothing to judge them by. */
const isAdvised = ({ environment }: ReplaySettings, compat: CompatEnforcement, state: AttachmentState): boolean =>
  environment !== 'production' && compat === 'advisory' && MISSING.has(state)

interface Protection extends Pick<SessionRules, 'mode' | 'compat' | 'governed'> {
  /** Every call is refused. */
  readonly refusing?: boolean
  /** The server cannot be asked, so that calls are decided here instead. */
  readonly alone?: boolean
}

/** How far a session protects. */
export function protectionLevelOf({ mode, compat, governed, refusing, alone }: Protection): ProtectionLevel {
  if (refusing) return 'protect'
  if (mode !== 'enforce') return 'monitor'
  if (governed && !alone) return 'govern'
  return compat === 'protective' ? 'protect' : 'monitor'
}

const LEVELS: readonly ProtectionLevel[] = ['monitor', 'protect', 'govern']

/** Why the session may not go on at its level of protection; null where that is enough for the program. */
function tooWeakFor(
  { requireProtection: required, apiKey }: ReplaySettings,
  rules: Pick<SessionRules, 'mode' | 'compat' | 'governed'>,
): string | null {
  const level = protectionLevelOf(rules)
  if (LEVELS.indexOf(level) >= LEVELS.indexOf(required)) return null
  const fix =
    required === 'protect' || rules.mode !== 'enforce'
      ? "use mode: 'enforce' and compatEnforcement: 'protective'"
      : apiKey === null
        ? 'set COUNTERSIGN_API_KEY or the option apiKey'
        : 'pass the option tools'
  return `the session would only ${level} and requireProtection asks for ${required}: ${fix}`
}

const isGoverned = (settings: ReplaySettings, mode: Mode): boolean =>
  mode === 'enforce' && settings.apiKey !== null && settings.tools !== null

function refusalFor({ environment, environmentKnown }: ReplaySettings, detail: string): string {
  const where = environmentKnown
    ? environment
    : 'production, since no environment is named (COUNTERSIGN_ENVIRONMENT: development, staging or production)'
  return `calls are blocked in ${where}: ${detail}`
}
