import { LIMITS } from '@countersign/protocol'
import type { ReplyHeaders } from '../context/reply-headers.js'

export interface SessionCookies {
  readonly access: string
  readonly refresh: string
}

/** `__Host-` binds a cookie to this host, this path and https; browsers refuse it without Secure. */
export const cookieName = (kind: keyof SessionCookies | 'device' | 'oidc', secure: boolean) =>
  `${secure ? '__Host-' : ''}countersign_${kind}`

/** Both cookies live as long as the refresh token, which is what an expired access token is renewed by. */
const MAX_AGE_SECONDS = LIMITS.refreshTokenDays * 24 * 3_600

export function readSessionCookies(header: string | null, secure: boolean): Partial<SessionCookies> {
  const access = readCookie(header, cookieName('access', secure))
  const refresh = readCookie(header, cookieName('refresh', secure))
  return { ...(access !== undefined && { access }), ...(refresh !== undefined && { refresh }) }
}

/** A longer value is none of ours. */
const MAX_VALUE = 4_096

/** The last cookie of that name. A stranger writes the header: only places that name the cookie are looked at. */
export function readCookie(header: string | null, wanted: string): string | undefined {
  if (header === null) return undefined
  const start = `${wanted}=`
  for (let at = header.length; at > 0; ) {
    at = header.lastIndexOf(start, at - 1)
    if (at === -1) return undefined
    const before = header.slice(0, at).trimEnd()
    if (before !== '' && !before.endsWith(';')) continue
    const value = valueAt(header, at + start.length)
    if (value.length <= MAX_VALUE) return value
  }
  return undefined
}

/** Up to the end of its part of the header, or to a further equals sign. */
function valueAt(header: string, from: number): string {
  const end = header.indexOf(';', from)
  const part = header.slice(from, end === -1 ? undefined : end).trimEnd()
  const equals = part.indexOf('=')
  return equals === -1 ? part : part.slice(0, equals)
}

export function setSessionCookies(headers: ReplyHeaders, cookies: Partial<SessionCookies>, secure: boolean): void {
  for (const kind of ['access', 'refresh'] as const) {
    const value = cookies[kind]
    if (value !== undefined) headers.appendCookie(cookieText(kind, value, { secure, maxAge: MAX_AGE_SECONDS }))
  }
}

export function clearSessionCookies(headers: ReplyHeaders, secure: boolean): void {
  for (const kind of ['access', 'refresh'] as const) headers.appendCookie(cookieText(kind, '', { secure, maxAge: 0 }))
}

export const cookieText = (
  kind: Parameters<typeof cookieName>[0],
  value: string,
  { secure, maxAge }: { readonly secure: boolean; readonly maxAge: number },
) =>
  `${cookieName(kind, secure)}=${value}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`
