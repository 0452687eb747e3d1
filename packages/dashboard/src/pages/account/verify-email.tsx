import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { useChange } from '../../api/use-api.js'
import { Button } from '../../components/basic/button.js'
import { FormProblem } from '../../components/form/form-problem.js'
import { Door } from '../../components/layout/door.js'
import { Loading } from '../../components/layout/states.js'
import { useFragmentToken } from './use-fragment-token.js'

/** The mailed link leads here; the token is in the fragment, which is never sent to a server or logged. */
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
      <Door title="Your email address is verified" lead="Your API key works from now on.">
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
        <Door
          title="Your email address is not verified yet"
          lead="The link may be valid, but the server could not check it."
        >
          <FormProblem problem={verify.error} />
          <Button kind="primary" onClick={() => mutate({ body: { token } })}>
            Try again
          </Button>
        </Door>
      )
    }
    return (
      <Door
        title="This link is no longer valid"
        lead="It may be older than 24 hours, already used, or replaced by a newer one."
      >
        <FormProblem problem={verify.error} />
        <p className="door-links">
          <Link to="/">Sign in to get a new link</Link>
        </p>
      </Door>
    )
  }
  return (
    <Door title="Verifying your email address">
      <Loading rows={1} label="Verifying" />
    </Door>
  )
}

const NoToken = () => (
  <Door
    title="Open the link"
    lead="The link that verifies your email address leads here. The dashboard says where to find it."
  >
    <p className="door-links">
      <Link to="/">Go to the dashboard</Link>
    </p>
  </Door>
)
