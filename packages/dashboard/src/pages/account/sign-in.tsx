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
  /** The button stays busy until the next page is there, which on a slow line is long after the answer. */
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
        {turnedBack ? (
          <p className="form-problem" role="alert">
            The password is right, but the browser did not keep the sign-in. Allow cookies for this site; a service
            whose address is https must be opened by that address.
          </p>
        ) : null}
        <Button kind="primary" type="submit" busy={login.isPending || entering}>
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
