import type { ReplyHeaders } from '../context/reply-headers.js'
import { cookieName, cookieText, readCookie } from './session-cookies.js'

/** A year: people who sign in once a month must stay known. It is set anew with every sign-in. */
const MAX_AGE_SECONDS = 365 * 24 * 3_600

export const readDeviceCookie = (header: string | null, secure: boolean): string | undefined =>
  readCookie(header, cookieName('device', secure))

/** Signing out leaves it: it says who signed in here, not who is signed in. */
export const setDeviceCookie = (headers: ReplyHeaders, token: string, secure: boolean): void =>
  headers.appendCookie(cookieText('device', token, { secure, maxAge: MAX_AGE_SECONDS }))
