import { LIMITS } from '@countersign/protocol'
import type { ReplyHeaders } from '../context/reply-headers.js'

export interface SessionCookies {
  readonly access: string
  readonly refresh: string
}

/** `__Host-` binds a cookie to this host, this path and https; browsers refuse it without Secure. */
const nameOf = (kind: keyof SessionCookies, secure: boolean) => `${secure ? '__Host-' : ''}countersign_${kind}`

/** Both cookies live as long as the refresh token, which is what an expired access token is renewed by. */
const MAX_AGE_SECONDS = LIMITS.refreshTokenDays * 24 * 3_600

export function readSessionCookies(header: string | null, secure: boolean): Partial<SessionCookies> {
  const found: { access?: string; refresh?: string } = {}
  for (const part of (header ?? '').split(';')) {
    const [name, value] = part.trim().split('=', 2)
    if (value === undefined || value.length > 4_096) continue
    if (name === nameOf('access', secure)) found.access = value
    if (name === nameOf('refresh', secure)) found.refresh = value
  }
  return found
}

export function setSessionCookies(headers: ReplyHeaders, cookies: Partial<SessionCookies>, secure: boolean): void {
  for (const kind of ['access', 'refresh'] as const) {
    const value = cookies[kind]
    if (value !== undefined) headers.appendCookie(cookieText(kind, value, secure, MAX_AGE_SECONDS))
  }
}

export function clearSessionCookies(headers: ReplyHeaders, secure: boolean): void {
  for (const kind of ['access', 'refresh'] as const) headers.appendCookie(cookieText(kind, '', secure, 0))
}

const cookieText = (kind: keyof SessionCookies, value: string, secure: boolean, maxAge: number) =>
  `${nameOf(kind, secure)}=${value}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`
