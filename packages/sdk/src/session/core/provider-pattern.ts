import { modelPattern } from '@countersign/engine'
import type { ProviderConstraints } from '@countersign/protocol'
import type { Report } from '../../base/diagnostics.js'
import { ReplayConfigError } from '../../base/errors.js'

/** Throws for a provider or model that a constraint forbids, and warns, once each, of those it advises against. */
export type CheckProvider = (provider: string, model: string | null) => void

/** Before a model is named, only patterns about the provider alone can match. */
export function createProviderCheck(
  constraints: readonly (ProviderConstraints | undefined)[],
  warn: { readonly report: Report; readonly sessionId: string },
): CheckProvider {
  const compile = (patterns: readonly string[]) =>
    patterns.map((pattern) => ({ pattern, matches: modelPattern(pattern) }))
  const blocking = compile(constraints.flatMap((each) => each?.block_incompatible ?? []))
  const warning = compile(constraints.flatMap((each) => each?.warn_incompatible ?? []))
  const warned = new Set<string>()
  return (provider, model) => {
    const blocked = blocking.find(({ matches }) => matches(provider, model))
    if (blocked !== undefined) {
      const used = model === null ? provider : `${provider}/${model}`
      throw new ReplayConfigError(
        `${used} may not be used: it matches ${JSON.stringify(blocked.pattern)} of block_incompatible`,
        'provider_incompatible',
      )
    }
    for (const { pattern, matches } of warning) {
      if (!matches(provider, model) || warned.has(`${pattern} ${model}`)) continue
      warned.add(`${pattern} ${model}`)
      warn.report({ type: 'replay_provider_warning', session_id: warn.sessionId, provider, model, pattern })
    }
  }
}
