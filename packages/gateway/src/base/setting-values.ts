/** How the text of a setting is read. Each throws what is wrong with it, to be read after the setting's name. */
export function text(value: string): string {
  if (value.trim() === '') throw new Error('is empty')
  return value.trim()
}

export const path = text

/** Never repeated in a message. */
export function secret(value: string): string {
  if (!/^[\x21-\x7e]+$/.test(value.trim())) throw new Error('must be one line of printable characters')
  return value.trim()
}

export function integer(min: number, max: number) {
  return (value: string): number => {
    const number = /^[0-9]+$/.test(value) ? Number(value) : Number.NaN
    if (!(number >= min && number <= max)) throw new Error(`must be a whole number from ${min} to ${max}`)
    return number
  }
}

export function oneOf<const Choice extends string>(choices: readonly Choice[]) {
  return (value: string): Choice => {
    const found = choices.find((choice) => choice === value)
    if (found === undefined) throw new Error(`must be one of ${choices.join(', ')}`)
    return found
  }
}

export function jsonValue(value: string): unknown {
  try {
    return JSON.parse(value)
  } catch {
    throw new Error('must be JSON')
  }
}

/** The value is not repeated: it may contain a password. */
export function webAddress(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : null
  if (url === null || !/^https?:$/.test(url.protocol)) throw new Error('must be an http or https URL')
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new Error('must be a URL without user name, query or fragment')
  }
  return url.href.replace(/\/+$/, '')
}

/** The providers whose wire the gateway speaks. */
export const PROVIDERS = ['openai', 'anthropic'] as const
export type ProviderName = (typeof PROVIDERS)[number]
export type Upstreams = Readonly<Record<ProviderName, string>>

/** `openai=URL,anthropic=URL`, or the same as a JSON object; what is not named keeps the provider's own address. */
export function upstreams(value: string): Upstreams {
  const given = value.trim().startsWith('{') ? Object.entries(jsonValue(value) as object) : value.split(',').map(pairIn)
  const found: Record<ProviderName, string> = {
    openai: 'https://api.openai.com',
    anthropic: 'https://api.anthropic.com',
  }
  for (const [name, address] of given) {
    const provider = PROVIDERS.find((one) => one === name)
    if (provider === undefined)
      throw new Error(`must name ${PROVIDERS.join(' or ')}, as in openai=https://api.openai.com`)
    // Clients write the version at the end of their base URL; here it comes from the path of the request.
    found[provider] = webAddress(String(address)).replace(/\/v1$/, '')
  }
  return found
}

function pairIn(text: string): [string, string] {
  const at = text.indexOf('=')
  return [text.slice(0, Math.max(at, 0)).trim(), text.slice(at + 1).trim()]
}
