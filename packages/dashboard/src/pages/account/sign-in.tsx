import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useRouter, useSearch } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { forgetPerson, useApi, useChange } from '../../api/use-api.js'
import { Button } from '../../components/basic/button.js'
import { Field } from '../../components/form/field.js'
import { FormProblem } from '../../components/form/form-problem.js'
import { Door } from '../../components/layout/door.js'
import { Loading } from '../../components/layout/states.js'
import { Providers } from './providers.js'

/** Why the company's provider led back here, by the name that the server puts into the address. */
const PROBLEMS: ReadonlyMap<string, string> = new Map([
  ['expired', 'That took too long, or began in another browser. Sign in again.'],
  ['refused', 'The provider did not sign you in. Try again, or ask its administrator.'],
  ['provider_away', 'The provider cannot be reached. Try again in a minute.'],
  ['no_member', 'You are not a member here. Ask an owner of your organisation to invite you.'],
  ['no_role', 'None of your groups at the provider has a role here. Ask the administrator of the provider.'],
  ['disabled', 'Your account is disabled. An owner of your organisation can enable it.'],
  ['address_taken', 'Your address has an account already. Sign in to it, then add the provider under Account.'],
  ['address_unverified', 'The provider has not verified your address. Verify it there, then sign in again.'],
  ['last_owner', 'Your organisation would have no owner then. An owner has to sign in first.'],
])

/** Where it is not known how one signs in here, the password is asked for: the server says what is wrong with that. */
const UNKNOWN = { signup: false, passwords: true, providers: [] }

export function SignInPage() {
  const search = useSearch({ from: '/sign-in' })
  const next = isOwnPath(search.next) ? search.next : undefined
  const ways = useApi('listWaysIn', {})
  const { signup, passwords, providers } = ways.data ?? UNKNOWN
  return (
    <Door title="Sign in" lead="See what your agents did, what was blocked, and why.">
      {ways.isPending ? (
        <Loading rows={2} />
      ) : (
        <>
          {search.problem === undefined ? null : (
            <p className="form-problem" role="alert">
              {PROBLEMS.get(search.problem) ?? PROBLEMS.get('refused')}
            </p>
          )}
          <Providers providers={providers} next={next} />
          {passwords && providers.length > 0 ? <p className="quiet">or with a password:</p> : null}
          {passwords ? <PasswordForm next={next} /> : null}
          {passwords || providers.length > 0 ? null : (
            <p>Passwords are switched off, and no provider is set up. The operator of this server can help.</p>
          )}
          <p className="door-links">
            {passwords ? <Link to="/forgot-password">Forgot your password?</Link> : null}
            {signup ? (
              <Link to="/sign-up">Create an account</Link>
            ) : (
              <span className="quiet">No account? Ask an owner of your organisation to invite you.</span>
            )}
          </p>
        </>
      )}
    </Door>
  )
}

function PasswordForm({ next }: { next: string | undefined }) {
  const login = useChange('login')
  const navigate = useNavigate()
  const router = useRouter()
  const queries = useQueryClient()
  const [entering, setEntering] = useState(false)
  const [turnedBack, setTurnedBack] = useState(false)
  /** The button stays busy until the next page has loaded, which can be long after the reply. */
  const enter = async () => {
    forgetPerson(queries)
    setEntering(true)
    await navigate({ to: '/', ...(next === undefined ? {} : { href: next }) })
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
          The password is correct, but the browser did not store the sign-in. Allow cookies for this site; if the server
          has an https address, open it at that address.
        </p>
      ) : null}
      <Button kind="primary" type="submit" busy={login.isPending || entering}>
        Sign in
      </Button>
    </form>
  )
}

/** The page to open after sign-in comes from the URL, so only this site's own pages are allowed. */
const isOwnPath = (path: string | undefined): path is string => path !== undefined && /^\/(?![/\\])/.test(path)
