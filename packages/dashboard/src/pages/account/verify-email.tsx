import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { useChange } from '../../api/use-api.js'
import { Button } from '../../components/basic/button.js'
import { FormProblem } from '../../components/form/form-problem.js'
import { Door } from '../../components/layout/door.js'
import { Loading } from '../../components/layout/states.js'
import { useFragmentToken } from './use-fragment-token.js'

/** The link of the mail leads here; the token is in the fragment, which no server and no log ever sees. */
export function VerifyEmailPage() {
  const token = useFragmentToken()
  const queries = useQueryClient()
  const verify = useChange('verifyEmail')
  const sent = useRef(false)
  const { mutate } = verify
  useEffect(() => {
    if (token === null || sent.current) return
    sent.current = true
    mutate({ body: { token } }, { onSuccess: () => queries.removeQueries({ queryKey: ['me'] }) })
  }, [token, mutate, queries])
  if (token === null) return <NoToken />
  if (verify.isSuccess) {
    return (
      <Door title="Your address is verified" lead="Your API key works from now on.">
        <p>
          <Link to="/" className="button button-primary">
            Go to the dashboard
          </Link>
        </p>
      </Door>
    )
  }
  if (verify.isError) {
    if (verify.error.status !== 400) {
      return (
        <Door title="Your address is not verified yet" lead="The link may well be good; the service could not look.">
          <FormProblem problem={verify.error} />
          <Button kind="primary" onClick={() => mutate({ body: { token } })}>
            Try again
          </Button>
        </Door>
      )
    }
    return (
      <Door
        title="This link does not work"
        lead="It may be older than 24 hours, or used already, or replaced by a newer one."
      >
        <FormProblem problem={verify.error} />
        <p className="door-links">
          <Link to="/">Sign in and send a new link</Link>
        </p>
      </Door>
    )
  }
  return (
    <Door title="Verifying your address">
      <Loading rows={1} label="Verifying" />
    </Door>
  )
}

const NoToken = () => (
  <Door title="Follow the link" lead="The link to verify your address leads back here. The dashboard says where it is.">
    <p className="door-links">
      <Link to="/">Go to the dashboard</Link>
    </p>
  </Door>
)
