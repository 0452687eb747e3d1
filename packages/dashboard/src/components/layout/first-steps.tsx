import { Link } from '@tanstack/react-router'
import { useApi } from '../../api/use-api.js'
import {
  contractSnippet,
  demoSnippet,
  environmentSnippet,
  governSnippet,
  installSnippet,
  observeSnippet,
} from '../../text/snippets.js'
import { Allowed } from '../basic/allowed.js'
import { CodeBlock } from '../basic/code-block.js'
import { Empty } from './states.js'

/** Shown to an account without sessions: how to get the first one. */
export const FirstSteps = () => (
  <Empty title="No activity yet">
    <p>
      Connect an agent, and its activity appears here. It needs an API key
      <Allowed to="createKey" otherwise=", which an owner can create.">
        ; <Link to="/keys">create one</Link> if you have not saved yours.
      </Allowed>
    </p>
    <QuotaNote />
    {isOwnMachine() ? (
      <>
        <p>
          Just looking around? Run the demo in the folder where the server was started. It has an account of its own, so
          nothing of it appears here: it prints the address and the password to sign in with. With{' '}
          <code>-- --volume</code> it fills that account with a month of sessions.
        </p>
        <CodeBlock title="A second terminal" code={demoSnippet} />
      </>
    ) : null}
    <ol className="steps">
      <li>
        <h3>Install the SDK and set the key</h3>
        <CodeBlock title="Terminal" code={`${installSnippet}\n${environmentSnippet('csk_…')}`} />
      </li>
      <li>
        <h3>Observe: see every tool call, change nothing</h3>
        <CodeBlock title="In your agent" code={observeSnippet} />
      </li>
      <li>
        <h3>Govern: define what a tool may do, and let the server decide</h3>
        <CodeBlock title="A contract" code={contractSnippet} />
        <CodeBlock title="A complete agent: node agent.mjs" code={governSnippet} />
      </li>
    </ol>
  </Empty>
)

/** What the smallest quota means for an agent, before it meets the limit. */
function QuotaNote() {
  const { data } = useApi('me', {})
  if (data === undefined || data.user.quota !== 'free') return null
  return (
    <p>
      This account has the quota <strong>free</strong>: 30 POST requests per minute for all its agents together, which
      is about ten turns; after that they wait. <Link to="/limits">Limits and usage</Link> shows how the operator of
      this server raises it.
    </p>
  )
}

const isOwnMachine = (): boolean => ['127.0.0.1', 'localhost', '[::1]'].includes(location.hostname)
