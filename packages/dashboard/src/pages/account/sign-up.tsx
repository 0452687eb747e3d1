import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import type { Answer } from '../../api/api.js'
import { reading, useApi, useChange } from '../../api/use-api.js'
import { Button } from '../../components/basic/button.js'
import { Field } from '../../components/form/field.js'
import { FormProblem } from '../../components/form/form-problem.js'
import { Door } from '../../components/layout/door.js'
import { MailNote } from '../../components/layout/mail-note.js'
import { NewKey } from '../../components/layout/new-key.js'
import { Loading } from '../../components/layout/states.js'

export function SignUpPage() {
  const [made, setMade] = useState<Answer<'signup'> | null>(null)
  const ways = useApi('listWaysIn', {})
  if (ways.isPending) {
    return (
      <Door title="Create an account">
        <Loading rows={3} />
      </Door>
    )
  }
  if (ways.data?.signup === false) return <Closed />
  return made === null ? <SignUpForm onMade={setMade} /> : <FirstKey made={made} />
}

function SignUpForm({ onMade }: { onMade: (made: Answer<'signup'>) => void }) {
  const signup = useChange('signup')
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const organisation = String(form.get('organisation')).trim()
    const body = { email: String(form.get('email')), password: String(form.get('password')) }
    signup.mutate(
      { body: organisation === '' ? body : { ...body, organisation } },
      { onSuccess: (answer) => onMade(answer) },
    )
  }
  return (
    <Door title="Create an account" lead="The model proposes, Countersign decides, and every decision is recorded.">
      <form className="form" onSubmit={submit}>
        <Field label="Email" name="email" type="email" autoComplete="username" maxLength={254} required autoFocus />
        <Field
          label="Password"
          name="password"
          type="password"
          autoComplete="new-password"
          minLength={10}
          maxLength={256}
          hint="At least 10 characters. A few words are better than a few symbols."
          required
        />
        <Field label="Organisation (optional)" name="organisation" autoComplete="organization" maxLength={100} />
        <FormProblem problem={signup.error} />
        <Button kind="primary" type="submit" busy={signup.isPending}>
          Create account
        </Button>
      </form>
      <p className="door-links">
        <Link to="/sign-in">I already have an account</Link>
      </p>
    </Door>
  )
}

const Closed = () => (
  <Door
    title="Accounts are made by invitation"
    lead="On this server accounts are created by invitation. Ask an owner of your organisation to invite you."
  >
    <p className="quiet">
      Do you run it? <code>npx countersign user create EMAIL --tenant TENANT --role owner</code> prints the link with
      which the first owner joins.
    </p>
    <p className="door-links">
      <Link to="/sign-in">I already have an account</Link>
    </p>
  </Door>
)

function FirstKey({ made }: { made: Answer<'signup'> }) {
  const navigate = useNavigate()
  const queries = useQueryClient()
  const enter = () => {
    queries.setQueryData(reading('me', {}).queryKey, { user: made.user, mail: made.mail })
    void navigate({ to: '/' })
  }
  return (
    <Door title="Your first API key" wide>
      <NewKey apiKey={made.api_key} />
      <div className="note">
        <p>
          The key works once you verify your email address, with a link that is valid for 24 hours.{' '}
          <MailNote mail={made.mail} to={made.user.email} />
        </p>
      </div>
      <Button kind="primary" icon="arrow" onClick={enter}>
        I saved the key, go to the dashboard
      </Button>
    </Door>
  )
}
