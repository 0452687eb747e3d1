import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useRouter, useSearch } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useChange } from '../../api/use-api.js'
import { Button } from '../../components/basic/button.js'
import { Field } from '../../components/form/field.js'
import { FormProblem } from '../../components/form/form-problem.js'
import { Door } from '../../components/layout/door.js'

export function SignInPage() {
  const { next } = useSearch({ from: '/sign-in' })
  const login = useChange('login')
  const navigate = useNavigate()
  const router = useRouter()
  const queries = useQueryClient()
  const [entering, setEntering] = useState(false)
  const [turnedBack, setTurnedBack] = useState(false)
  /** The button stays busy until the next page has loaded, which can be long after the reply. */
  const enter = async () => {
    queries.clear()
    setEntering(true)
    await navigate({ to: '/', ...(isOwnPath(next) ? { href: next } : {}) })
    setEntering(false)
    setTurnedBack(router.state.location.pathname === '/sign-in')
  }
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    setTurnedBack(false)
    const form = new FormData(event.currentTarget)
    const body = { email: String(form.get('email')), password: String(form.get('password')) }
    login.mutate({ body }, { onSuccess: enter })
  }
  return (
    <Door title="Sign in" lead="See what your agents did, what was blocked, and why.">
      <form className="form" onSubmit={submit}>
        <Field label="Email" name="email" type="email" autoComplete="username" required autoFocus />
        <Field label="Password" name="password" type="password" autoComplete="current-password" required />
        {login.error?.status === 401 ? (
          <p className="form-problem" role="alert">
            The email address or the password is wrong.
          </p>
        ) : (
          <FormProblem problem={login.error} />
        )}
        {turnedBack ? (
          <p className="form-problem" role="alert">
            The password is correct, but the browser did not store the sign-in. Allow cookies for this site; if the
            server has an https address, open it at that address.
          </p>
        ) : null}
        <Button kind="primary" type="submit" busy={login.isPending || entering}>
          Sign in
        </Button>
      </form>
      <p className="door-links">
        <Link to="/forgot-password">Forgot your password?</Link>
        <Link to="/sign-up">Create an account</Link>
      </p>
    </Door>
  )
}

/** The page to open after sign-in comes from the URL, so only this site's own pages are allowed. */
const isOwnPath = (path: string | undefined): path is string => path !== undefined && /^\/(?![/\\])/.test(path)
