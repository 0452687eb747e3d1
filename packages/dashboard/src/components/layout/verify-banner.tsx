import { ApiProblem } from '../../api/api.js'
import { useApi, useChange } from '../../api/use-api.js'
import { Button } from '../basic/button.js'
import { Icon } from '../basic/icon.js'
import { MailNote } from './mail-note.js'

/** Until the address is verified, the API refuses every call, so every page says so. */
export function VerifyBanner() {
  const { data } = useApi('me', {}, { pollMs: 10_000 })
  const resend = useChange('resendVerification')
  const waitSeconds = resend.error instanceof ApiProblem ? resend.error.retryAfterSeconds : undefined
  if (data === undefined || data.user.email_verified) return null
  return (
    <div className="strip strip-warn" role="status">
      <Icon name="alert" size={18} />
      <p>
        <strong>Verify your email address.</strong> Until then, the API refuses every call with EMAIL_NOT_VERIFIED.{' '}
        <MailNote mail={data.mail} to={data.user.email} />
      </p>
      {resend.isSuccess ? (
        <span>{data.mail === 'sent' ? 'It is on its way, which may take a minute.' : 'A new link is ready.'}</span>
      ) : (
        <>
          {waitSeconds === undefined ? null : (
            <span>Three were sent within the hour. The next can be sent in {Math.ceil(waitSeconds / 60)} min.</span>
          )}
          <Button busy={resend.isPending} onClick={() => resend.mutate({ body: {} })}>
            {resend.isError ? 'Failed, try again' : data.mail === 'sent' ? 'Send it again' : 'Create a new link'}
          </Button>
        </>
      )}
    </div>
  )
}
