import type { CompiledSession } from '@countersign/protocol'
import type { Plan } from '../contract/plan.js'
import { modelPattern, patternMeant } from '../contract/pricing.js'
import { decimalText } from '../json/decimal.js'
import type { Report } from './report/problem.js'

/** Prepares the price list of session.yaml. If several patterns match a model, the most specific one wins. */
export function preparePricing(pricing: CompiledSession['session']['pricing'], report: Report): Plan['priceOf'] {
  const rows = Object.entries(pricing ?? {}).map(([pattern, price]) => {
    if (pattern.trim() !== pattern) {
      report(
        ['pricing', pattern],
        'the pattern has spaces around it',
        'write it as provider/model, with * for any part',
      )
    }
    return {
      matches: modelPattern(pattern),
      exactness: pattern.replaceAll('*', '').length,
      pattern,
      price: { input: decimalText(price.input), output: decimalText(price.output) },
    }
  })
  rows.sort((a, b) => b.exactness - a.exactness || (a.pattern < b.pattern ? -1 : 1))
  return (provider, model) => rows.find(({ matches }) => matches(provider, model))?.price ?? null
}

/** A pattern that misspells its provider would forbid, or price, nothing. */
export function checkPatterns({ pricing, provider_constraints }: CompiledSession['session'], report: Report): void {
  for (const pattern of Object.keys(pricing ?? {})) checkPattern(['pricing', pattern], pattern, report)
  for (const [kind, patterns] of Object.entries(provider_constraints ?? {})) {
    for (const pattern of patterns ?? []) checkPattern(['provider_constraints', kind], pattern, report)
  }
}

function checkPattern(path: Parameters<Report>[0], pattern: string, report: Report): void {
  const meant = patternMeant(pattern)
  if (meant === null) return
  report(path, `${JSON.stringify(pattern)} matches no provider and no model`, `did you mean ${JSON.stringify(meant)}?`)
}
