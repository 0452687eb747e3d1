/**
 * A copy of a value in which keys, tokens and credentials are gone: by the name of the field and by the look of the
 * text, at every depth. Works level by level and within bounds, so that no input can overflow or stall the logger.
 */
export function redact(root: unknown): unknown {
  const holder: { value?: unknown } = {}
  const seen = new Set<object>()
  let queue: Task[] = [{ from: root, into: holder, at: 'value' }]
  let parts = 0
  for (let depth = 0; queue.length > 0; depth++) {
    const next: Task[] = []
    for (const { from, into, at } of queue) {
      const put = (value: unknown) =>
        Object.defineProperty(into, at, { value, enumerable: true, writable: true, configurable: true })
      if (typeof from !== 'object' || from === null) put(redactScalar(from))
      else if (++parts > MAX_PARTS) put('[more]')
      else if (depth > MAX_DEPTH) put('[deeper]')
      else if (seen.has(from)) put('[seen above]')
      else {
        seen.add(from)
        put(openObject(from, next))
      }
    }
    queue = next
  }
  return holder.value
}

const MAX_DEPTH = 32
const MAX_PARTS = 5_000
const MAX_TEXT = 8_192

interface Task {
  from: unknown
  into: object
  at: string
}

/** The copy of one object, its members queued for the next level. */
function openObject(from: object, queue: Task[]): unknown {
  if (from instanceof Date) return Number.isNaN(from.getTime()) ? '[no date]' : from.toISOString()
  if (ArrayBuffer.isView(from) || from instanceof ArrayBuffer) return `[${from.byteLength} bytes]`
  if (from instanceof Headers) return openObject(Object.fromEntries(from), queue)
  if (from instanceof Map)
    return openMembers(
      [...from].map(([key, value]) => [String(key), value]),
      {},
      queue,
    )
  if (from instanceof Set) return openObject([...from], queue)
  if (from instanceof URL) return redactText(from.href)
  if (Array.isArray(from)) {
    const copy: unknown[] = []
    for (const [index, value] of from.entries()) queue.push({ from: value, into: copy, at: String(index) })
    return copy
  }
  return openMembers(membersOf(from), {}, queue)
}

function openMembers(members: readonly (readonly [string, unknown])[], copy: object, queue: Task[]): object {
  for (const [key, value] of members) {
    queue.push({ from: isSecret(key, value) ? REDACTED : value, into: copy, at: redactText(key) })
  }
  return copy
}

/** Of an error its own fields would hold far too much (statements, requests): only these are logged. */
function membersOf(from: object): [string, unknown][] {
  const keys = from instanceof Error ? ['name', 'message', 'code', 'stack', 'cause'] : Object.keys(from)
  const members: [string, unknown][] = []
  for (const key of keys) {
    try {
      const value: unknown = (from as Record<string, unknown>)[key]
      if (value !== undefined && typeof value !== 'function') members.push([key, value])
    } catch {
      members.push([key, '[unreadable]'])
    }
  }
  return members
}

function redactScalar(value: unknown): unknown {
  if (typeof value === 'string') return redactText(value)
  if (typeof value === 'bigint' || typeof value === 'symbol') return String(value)
  return typeof value === 'function' ? '[function]' : value
}

const REDACTED = '[redacted]'

const SECRET_NAMES = [
  'password', 'passwd', 'passphrase', 'secret', 'token', 'apikey', 'authorization', 'cookie', 'credential', 'jwt',
  'privatekey', 'signingkey', 'accesskey', 'principal', 'databaseurl', 'smtpurl', 'connectionstring', 'hashsalt',
] // biome-ignore format: a list reads better in rows

/** Short names, which count as whole words alone: `bypass` and `author` are no secrets. */
const SECRET_WORDS: ReadonlySet<string> = new Set(['pwd', 'pass', 'auth', 'refresh'])

const wordsOf = (key: string): string[] =>
  key
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)

function isSecret(key: string, value: unknown): boolean {
  const name = key.toLowerCase().replaceAll(/[^a-z]/g, '')
  // `input_tokens: 812` counts, it does not open anything.
  if (typeof value === 'number' && name.endsWith('tokens')) return false
  if (value === null || typeof value === 'boolean') return false
  return SECRET_NAMES.some((secret) => name.includes(secret)) || wordsOf(key).some((word) => SECRET_WORDS.has(word))
}

/** What a secret looks like in running text, and what is left of it. Each takes time linear in the text. */
const SECRET_TEXTS: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]*/g, REDACTED],
  [/\b(?:csk_|sk-)[A-Za-z0-9_-]{8,}/g, REDACTED],
  [/\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?/g, REDACTED],
  [/\b(bearer|basic)(\s+)[A-Za-z0-9._~+/=-]{8,}/gi, `$1$2${REDACTED}`],
  [/\b((?:set-)?cookie|authorization)(["']?\s*[:=]\s*)[^\r\n]+/gi, `$1$2${REDACTED}`],
  [/(:\/\/)[^\s/?#"']*@/g, `$1${REDACTED}@`],
  [/(countersign_[a-z]+=)[^\s"'&,;)}]+/gi, `$1${REDACTED}`],
  [/((?<![a-z])(?:pwd|pass|auth)["']?\s{0,8}[=:]\s{0,8}["']?)[^\s"'&,;)}]+/gi, `$1${REDACTED}`],
  [
    /((?:pass(?:word|wd|phrase)|secret|token|api[_-]?key|credential)s?["']?\s{0,8}[=:]\s{0,8}["']?)[^\s"'&,;)}]+/gi,
    `$1${REDACTED}`,
  ],
]

export function redactText(text: string): string {
  let result = text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}… (${text.length} characters)` : text
  for (const [pattern, replacement] of SECRET_TEXTS) result = result.replace(pattern, replacement)
  return result
}
