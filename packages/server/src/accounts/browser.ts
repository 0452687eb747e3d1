import { networkOf } from '../base/address-key.js'
import type { Applicant } from '../base/crypto/passwords.js'
import type { OpenContext } from '../context/context.js'
import { readDeviceCookie, setDeviceCookie } from '../entry/device-cookie.js'

/** The browser that asks. */
export interface Browser {
  /** Set where it has signed in to this account before. */
  readonly deviceId: string | null
  /** In whose turn its passwords are hashed. */
  readonly applicant: Applicant
}

/** Whether the browser is known for the account of this address, as its device cookie says. */
export function browserOf({ app, request }: OpenContext, emailKey: string): Browser {
  const { deviceTokens, secureCookies } = app.accounts
  const token = readDeviceCookie(request.http.header('cookie'), secureCookies)
  const deviceId = token === undefined ? null : deviceTokens.read(token, emailKey)
  return {
    deviceId,
    applicant: deviceId === null ? stranger(request.clientAddress) : { owner: emailKey, isKnown: true },
  }
}

export const stranger = (address: string): Applicant => ({ owner: networkOf(address), isKnown: false })

/** From now on the browser is known for this account. */
export const knowBrowser = ({ app, request }: OpenContext, emailKey: string): void =>
  setDeviceCookie(request.replyHeaders, app.accounts.deviceTokens.issue(emailKey), app.accounts.secureCookies)
