import { forgotPassword } from './forgot-password.js'
import { acceptInvitation, readInvitation } from './invitation.js'
import { listAudit } from './list-audit.js'
import { login } from './login.js'
import { logout } from './logout.js'
import { me } from './me.js'
import { changePassword, endSignIn, listSignIns, renameMyself } from './own-account.js'
import { resendVerification } from './resend-verification.js'
import { resetPassword } from './reset-password.js'
import { signup } from './signup.js'
import { verifyEmail } from './verify-email.js'
import { listWaysIn } from './ways-in.js'

/** Signing up and in, what mails lead to, one's own account, and the audit trail. */
export const accountHandlers = {
  signup,
  login,
  logout,
  forgotPassword,
  resetPassword,
  verifyEmail,
  resendVerification,
  readInvitation,
  acceptInvitation,
  listWaysIn,
  me,
  renameMyself,
  changePassword,
  listSignIns,
  endSignIn,
  listAudit,
}
