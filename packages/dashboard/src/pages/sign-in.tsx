import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useRouter, useSearch } from '@tanstack/react-router'
import type { FormEvent } from 'react'
import { Button } from '../components/button.js'
import { Door, FormProblem } from '../components/door.js'
import { Field } from '../components/field.js'
import { useChange } from '../use-api.js'

export function SignInPage() {
  const { next } = useSearch({ from: '/sign-in' })
  const login = useChange('login')
  const navigate = useNavigate()
  const { history } = useRouter()
  const queries = useQueryClient()
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    login.mutate(
      { body: { email: String(form.get('email')), password: String(form.get('password')) } },
      {
        onSuccess: () => {
          queries.clear()
          if (isOwnPath(next)) history.push(next)
          else void navigate({ to: '/' })
        },
      },
    )
  }
  return (
    <Door title="Sign in" lead="See what your agents did, what was stopped, and why.">
      <form className="form" onSubmit={submit}>
        <Field label="E-mail" name="email" type="email" autoComplete="username" required autoFocus />
        <Field label="Password" name="password" type="password" autoComplete="current-password" required />
        {login.error?.status === 401 ? (
          <p className="form-problem" role="alert">
            The e-mail address or the password is not right.
          </p>
        ) : (
          <FormProblem problem={login.error} />
        )}
        <Button kind="primary" type="submit" busy={login.isPending}>
          Sign in
        </Button>
      </form>
      <p className="door-links">
        <Link to="/forgot-password">Forgot the password?</Link>
        <Link to="/sign-up">Create an account</Link>
      </p>
    </Door>
  )
}

/** Where to go after the sign-in comes from the address, so it may lead only to this site's own pages. */
const isOwnPath = (path: string | undefined): path is string => path !== undefined && /^\/(?![/\\])/.test(path)
