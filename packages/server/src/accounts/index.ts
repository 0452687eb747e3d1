import { createKey } from './create-key.js'
import { forgotPassword } from './forgot-password.js'
import { listAudit } from './list-audit.js'
import { listKeys } from './list-keys.js'
import { login } from './login.js'
import { logout } from './logout.js'
import { me } from './me.js'
import { resendVerification } from './resend-verification.js'
import { resetPassword } from './reset-password.js'
import { revokeKey } from './revoke-key.js'
import { signup } from './signup.js'
import { verifyEmail } from './verify-email.js'

/** Signing up and in, and what mails lead to. */
export const accountHandlers = {
  signup,
  login,
  logout,
  forgotPassword,
  resetPassword,
  verifyEmail,
  resendVerification,
  me,
}

/** API keys and the audit trail, for people who are signed in. */
export const keyHandlers = { listKeys, createKey, revokeKey, listAudit }
