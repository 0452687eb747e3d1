import { Link } from '@tanstack/react-router'
import type { FormEvent } from 'react'
import { useChange } from '../../api/use-api.js'
import { Button } from '../../components/basic/button.js'
import { Field } from '../../components/form/field.js'
import { FormProblem } from '../../components/form/form-problem.js'
import { Door } from '../../components/layout/door.js'
import { MailNote } from '../../components/layout/mail-note.js'

export function ForgotPasswordPage() {
  const forgot = useChange('forgotPassword')
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    forgot.mutate({ body: { email: String(new FormData(event.currentTarget).get('email')) } })
  }
  if (forgot.isSuccess) {
    return (
      <Door
        title={forgot.data.mail === 'sent' ? 'Check your email' : 'Find your link'}
        lead="If there is an account with this address, there is now a link to set a new password. It works once, for one hour."
      >
        <p>
          <MailNote mail={forgot.data.mail} />
        </p>
        <p className="door-links">
          <Link to="/sign-in">Back to sign in</Link>
        </p>
      </Door>
    )
  }
  return (
    <Door title="Reset your password" lead="Get a link to set a new one.">
      <form className="form" onSubmit={submit}>
        <Field label="Email" name="email" type="email" autoComplete="username" required autoFocus />
        <FormProblem problem={forgot.error} />
        <Button kind="primary" type="submit" busy={forgot.isPending}>
          Get link
        </Button>
      </form>
      <p className="door-links">
        <Link to="/sign-in">Back to sign in</Link>
      </p>
    </Door>
  )
}
