/** The `format` values that are checked. Every expression is linear: no repeat inside a repeat. */
export const FORMATS: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ['date', isDate],
  ['date-time', isDateTime],
  ['email', isEmail],
  ['uri', isUri],
  ['uuid', (text: string) => UUID.test(text)],
])

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const DATE = /^(\d{4})-(\d{2})-(\d{2})$/
const TIME = /^(\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:z|([+-])(\d{2}):(\d{2}))$/i
const SCHEME = /^[a-z][a-z0-9+.-]*:/i
const URI_CHARACTERS = /^(?:[a-z0-9\-._~:/?#[\]@!$&'()*+,;=]|%[0-9a-f]{2})*$/i
const EMAIL_LOCAL = /^[a-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}$/i
const HOST_LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i

/** Days of the month, for a year in which February has 29. */
const DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

function isDate(text: string): boolean {
  const match = DATE.exec(text)
  if (match === null) return false
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])]
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const last = month === 2 && !isLeap ? 28 : (DAYS[month - 1] ?? 0)
  return day >= 1 && day <= last
}

function isDateTime(text: string): boolean {
  const separator = text.search(/t/i)
  return separator === 10 && isDate(text.slice(0, 10)) && isTime(text.slice(11))
}

function isTime(text: string): boolean {
  const match = TIME.exec(text)
  if (match === null) return false
  const [hour, minute, second] = [Number(match[1]), Number(match[2]), Number(match[3])]
  const [offsetHour, offsetMinute] = [Number(match[5] ?? 0), Number(match[6] ?? 0)]
  if (hour > 23 || minute > 59 || second > 60 || offsetHour > 23 || offsetMinute > 59) return false
  if (second < 60) return true
  // A leap second is at 23:59:60 UTC only.
  const offset = (match[4] === '-' ? -1 : 1) * (offsetHour * 60 + offsetMinute)
  return (hour * 60 + minute - offset + 1440) % 1440 === 1439
}

function isEmail(text: string): boolean {
  const at = text.lastIndexOf('@')
  const local = text.slice(0, at)
  if (at < 1 || !EMAIL_LOCAL.test(local)) return false
  if (local.startsWith('.') || local.endsWith('.') || local.includes('..')) return false
  const host = text.slice(at + 1)
  return host.length <= 253 && host.split('.').every((label) => HOST_LABEL.test(label))
}

function isUri(text: string): boolean {
  if (!SCHEME.test(text) || !URI_CHARACTERS.test(text)) return false
  const hash = text.indexOf('#')
  const beforeFragment = hash === -1 ? text : text.slice(0, hash)
  const fragment = hash === -1 ? '' : text.slice(hash + 1)
  if (fragment.includes('#')) return false
  // Brackets belong to an IPv6 host only.
  const rest = beforeFragment.slice(beforeFragment.indexOf(':') + 1)
  const authority = rest.startsWith('//') ? (/^\/\/([^/?]*)/.exec(rest)?.[1] ?? '') : ''
  const outside = rest.slice(authority === '' ? 0 : 2 + authority.length) + fragment
  if (/[[\]]/.test(outside)) return false
  return authority === '' || isAuthority(authority)
}

function isAuthority(authority: string): boolean {
  const at = authority.lastIndexOf('@')
  const userinfo = authority.slice(0, Math.max(at, 0))
  if (/[@[\]]/.test(userinfo)) return false
  const hostAndPort = authority.slice(at + 1)
  return /^(?:\[[0-9a-f:.v]+\]|[^[\]:]*)(?::\d*)?$/i.test(hostAndPort)
}
