import { useApi, useChange } from '../use-api.js'
import { Button } from './button.js'
import { Icon } from './icon.js'
import { Text } from './text.js'

/** Until the address is verified the API refuses every call, so every page says so. */
export function VerifyBanner() {
  const { data } = useApi('me', {}, { pollMs: 10_000 })
  const resend = useChange('resendVerification')
  if (data === undefined || data.user.email_verified) return null
  return (
    <div className="strip strip-warn" role="status">
      <Icon name="alert" size={18} />
      <p>
        <strong>Verify your e-mail address.</strong> Until then the API answers every call with EMAIL_NOT_VERIFIED. The
        link is in the mail to <Text value={data.user.email} />.
      </p>
      {resend.isSuccess ? (
        <span>Sent. It may take a minute.</span>
      ) : (
        <Button busy={resend.isPending} onClick={() => resend.mutate({ body: { email: data.user.email } })}>
          {resend.isError ? 'Not sent, try again' : 'Send it again'}
        </Button>
      )}
    </div>
  )
}
