import { forgotPassword } from './forgot-password.js'
import { login } from './login.js'
import { logout } from './logout.js'
import { me } from './me.js'
import { resendVerification } from './resend-verification.js'
import { resetPassword } from './reset-password.js'
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
