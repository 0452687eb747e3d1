import type { Usage } from '@countersign/protocol'
import { addDecimals, multiplyDecimals } from '../json/decimal.js'
import { closestName } from '../text/closest-name.js'
import type { Price } from './plan.js'

/** A pattern such as `openai/gpt-4o*`, with `*` for any part. Without `/` it matches the provider or the model. */
export function modelPattern(pattern: string): (provider: string | null, model: string | null) => boolean {
  const parts = pattern.split('*')
  const names = pattern.includes('/')
    ? (provider: string | null, model: string) => (provider === null ? [model] : [`${provider}/${model}`, model])
    : (provider: string | null, model: string) => (provider === null ? [model] : [provider, model])
  return (provider, model) => names(provider, model ?? '').some((name) => matchesParts(name, parts))
}

/** The providers that the SDK and the gateway know by themselves; a program may name others. */
const PROVIDERS = ['openai', 'anthropic'] as const

/**
 * The pattern that is meant by one that misspells a provider, and so matches nothing; null if it may match. Another name
 * before the slash may begin the name of a model, such as `meta-llama/Llama-3`.
 */
export function patternMeant(pattern: string): string | null {
  const [head = ''] = pattern.split(/[/*]/, 1)
  if (PROVIDERS.some((name) => name === head)) return null
  const letters = head.toLowerCase().replace(/[^a-z0-9]/g, '')
  const isWhole = pattern[head.length] !== '*'
  const meant = PROVIDERS.find((name) => name === letters) ?? (isWhole ? closestName(letters, PROVIDERS, 1) : null)
  return meant === null ? null : meant + pattern.slice(head.length)
}

/** Linear in the text: each part is searched for after the previous one. */
function matchesParts(text: string, parts: readonly string[]): boolean {
  const [first = '', ...rest] = parts
  const last = rest.pop()
  if (last === undefined) return text === first
  if (!text.startsWith(first)) return false
  let at = first.length
  for (const part of rest) {
    const found = text.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  return text.length - last.length >= at && text.endsWith(last)
}

const PER_TOKEN = '0.000001'

/** What a model call cost: exact, in the currency of the price list. */
export function costOf(price: Price, usage: Usage): string {
  const input = multiplyDecimals(price.input, String(usage.input_tokens))
  const output = multiplyDecimals(price.output, String(usage.output_tokens))
  return multiplyDecimals(addDecimals(input, output), PER_TOKEN)
}
