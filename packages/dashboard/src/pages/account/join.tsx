import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { type FormEvent, type ReactNode, useEffect, useRef } from 'react'
import type { Answer } from '../../api/api.js'
import { forgetPerson, useApi, useChange } from '../../api/use-api.js'
import { Button } from '../../components/basic/button.js'
import { Text } from '../../components/basic/text.js'
import { Field } from '../../components/form/field.js'
import { FormProblem } from '../../components/form/form-problem.js'
import { Door } from '../../components/layout/door.js'
import { Loading } from '../../components/layout/states.js'
import { ROLE_WORDS } from '../../text/roles.js'
import { plainText } from '../../text/visible-text.js'
import { Providers } from './providers.js'
import { useFragmentToken } from './use-fragment-token.js'

/** The link of an invitation leads here. Reading it changes nothing: only the form accepts it. */
export function JoinPage() {
  const token = useFragmentToken()
  const read = useChange('readInvitation')
  const asked = useRef(false)
  const { mutate } = read
  useEffect(() => {
    if (token === null || asked.current) return
    asked.current = true
    mutate({ body: { token } })
  }, [token, mutate])
  if (token === null) {
    return <NoInvitation title="Open your invitation" lead="The link in the email that invites you leads here." />
  }
  if (read.isSuccess) return <JoinForm token={token} invitation={read.data} />
  if (read.error === null) {
    return (
      <Door title="Your invitation">
        <Loading rows={2} label="Reading the invitation" />
      </Door>
    )
  }
  if (read.error.code === 'INVALID_TOKEN') return <Ended />
  return (
    <Door title="Your invitation could not be read" lead="The link may be valid, but the server could not check it.">
      <FormProblem problem={read.error} />
      <Button kind="primary" onClick={() => mutate({ body: { token } })}>
        Try again
      </Button>
    </Door>
  )
}

interface JoinFormProps {
  readonly token: string
  readonly invitation: Answer<'readInvitation'>
}

function JoinForm({ token, invitation: { email, role, tenant_name, invited_by } }: JoinFormProps) {
  const ways = useApi('listWaysIn', {})
  const accept = useChange('acceptInvitation')
  const navigate = useNavigate()
  const queries = useQueryClient()
  if (accept.error?.code === 'INVALID_TOKEN') return <Ended />
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const name = String(form.get('name')).trim()
    const body = { token, password: String(form.get('password')), ...(name === '' ? {} : { name }) }
    const enter = () => {
      // The person who was signed in here before is not any more.
      forgetPerson(queries)
      void navigate({ to: '/' })
    }
    accept.mutate({ body }, { onSuccess: enter })
  }
  return (
    <Door
      title={`Join ${plainText(tenant_name)}`}
      lead={
        <>
          {invited_by === 'operator' ? 'The operator of this server' : <Text value={invited_by} />} invites you as{' '}
          {ROLE_WORDS[role].as}. {ROLE_WORDS[role].may}
        </>
      }
    >
      {ways.data?.passwords === false ? (
        <>
          <p>
            Sign in as <Text value={email} /> to join.
          </p>
          <Providers providers={ways.data.providers} />
        </>
      ) : (
        <form className="form" onSubmit={submit}>
          <Field label="Email" type="email" autoComplete="username" value={email} readOnly />
          <Field label="Your name (optional)" name="name" autoComplete="name" maxLength={100} />
          <Field
            label="Password"
            name="password"
            type="password"
            autoComplete="new-password"
            minLength={10}
            maxLength={256}
            hint="At least 10 characters. A few words are better than a few symbols."
            required
            autoFocus
          />
          <FormProblem problem={accept.error} />
          <Button kind="primary" type="submit" busy={accept.isPending || accept.isSuccess}>
            Join
          </Button>
        </form>
      )}
    </Door>
  )
}

const Ended = () => (
  <NoInvitation
    title="This invitation is no longer valid"
    lead="It may be older than seven days, already used, revoked, or replaced by a newer one. Ask for another one."
  />
)

const NoInvitation = ({ title, lead }: { title: string; lead: ReactNode }) => (
  <Door title={title} lead={lead}>
    <p className="door-links">
      <Link to="/sign-in">I already have an account</Link>
    </p>
  </Door>
)
