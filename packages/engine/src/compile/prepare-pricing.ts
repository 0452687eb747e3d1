import type { CompiledSession } from '@countersign/protocol'
import type { Plan } from '../contract/plan.js'
import { modelPattern } from '../contract/pricing.js'
import { decimalText } from '../json/decimal.js'
import type { Report } from './problem.js'

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
