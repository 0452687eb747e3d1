import { LIMITS } from '@countersign/protocol'
import type { ReplyHeaders } from '../context/reply-headers.js'

export interface SessionCookies {
  readonly access: string
  readonly refresh: string
}

/** `__Host-` binds a cookie to this host, this path and https; browsers refuse it without Secure. */
export const cookieName = (kind: keyof SessionCookies | 'device', secure: boolean) =>
  `${secure ? '__Host-' : ''}countersign_${kind}`

/** Both cookies live as long as the refresh token, which is what an expired access token is renewed by. */
const MAX_AGE_SECONDS = LIMITS.refreshTokenDays * 24 * 3_600

export function readSessionCookies(header: string | null, secure: boolean): Partial<SessionCookies> {
  const access = readCookie(header, cookieName('access', secure))
  const refresh = readCookie(header, cookieName('refresh', secure))
  return { ...(access !== undefined && { access }), ...(refresh !== undefined && { refresh }) }
}

/** The last cookie of that name. */
export function readCookie(header: string | null, wanted: string): string | undefined {
  let found: string | undefined
  for (const part of (header ?? '').split(';')) {
    const [name, value] = part.trim().split('=', 2)
    if (name === wanted && value !== undefined && value.length <= 4_096) found = value
  }
  return found
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
