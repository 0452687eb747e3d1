import { ApiError } from '../base/api-error.js'
import type { Config } from '../base/config.js'
import type { OpenContext } from '../context/context.js'

/** Unless it is said: closed in production, where strangers find the page. */
export const isSignupOpen = ({ signup, mode, passwords }: Config): boolean =>
  passwords && (signup === null ? mode === 'development' : signup === 'open')

export function requirePasswords({ app }: OpenContext): void {
  if (!app.config.passwords) throw new ApiError('PASSWORDS_OFF')
}
