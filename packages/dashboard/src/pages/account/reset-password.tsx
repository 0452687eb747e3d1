import { Link } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useChange } from '../../api/use-api.js'
import { Button } from '../../components/basic/button.js'
import { Field } from '../../components/form/field.js'
import { FormProblem } from '../../components/form/form-problem.js'
import { Door } from '../../components/layout/door.js'
import { useFragmentToken } from './use-fragment-token.js'

export function ResetPasswordPage() {
  const token = useFragmentToken()
  const reset = useChange('resetPassword')
  const [differs, setDiffers] = useState(false)
  if (token === null || reset.error?.code === 'INVALID_TOKEN') {
    return (
      <Door
        title="This link is no longer valid"
        lead="It may be older than an hour, already used, or replaced by a newer one."
      >
        <p className="door-links">
          <Link to="/forgot-password">Request a new link</Link>
        </p>
      </Door>
    )
  }
  if (reset.isSuccess) {
    return (
      <Door title="Your password was changed" lead="You were signed out everywhere else.">
        <p>
          <Link to="/sign-in" className="button button-primary">
            Sign in
          </Link>
        </p>
      </Door>
    )
  }
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const password = String(form.get('password'))
    setDiffers(password !== form.get('again'))
    if (password === form.get('again')) reset.mutate({ body: { token, password } })
  }
  const length = { minLength: 10, maxLength: 256, autoComplete: 'new-password', type: 'password', required: true }
  return (
    <Door title="Set a new password">
      <form className="form" onSubmit={submit}>
        <Field label="New password" name="password" hint="At least 10 characters." autoFocus {...length} />
        <Field
          label="Repeat password"
          name="again"
          problem={differs ? 'The passwords do not match.' : undefined}
          {...length}
        />
        <FormProblem problem={reset.error} />
        <Button kind="primary" type="submit" busy={reset.isPending}>
          Set password
        </Button>
      </form>
    </Door>
  )
}
