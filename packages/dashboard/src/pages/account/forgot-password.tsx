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
        title={forgot.data.mail === 'sent' ? 'Look into your mail' : 'Ask for the link'}
        lead="If an account has this address, there is a link to set a new password. It works for one hour, once."
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
    <Door title="Forgot the password" lead="You get a link that sets a new one.">
      <form className="form" onSubmit={submit}>
        <Field label="E-mail" name="email" type="email" autoComplete="username" required autoFocus />
        <FormProblem problem={forgot.error} />
        <Button kind="primary" type="submit" busy={forgot.isPending}>
          Get the link
        </Button>
      </form>
      <p className="door-links">
        <Link to="/sign-in">Back to sign in</Link>
      </p>
    </Door>
  )
}
