import { Link } from '@tanstack/react-router'
import {
  contractSnippet,
  demoSnippet,
  environmentSnippet,
  governSnippet,
  installSnippet,
  observeSnippet,
} from '../../text/snippets.js'
import { CodeBlock } from '../basic/code-block.js'
import { Empty } from './states.js'

/** What an account without sessions sees: the way to the first one. */
export const FirstSteps = () => (
  <Empty title="Nothing has happened yet">
    <p>
      Connect an agent and this page comes to life by itself. It needs an API key; <Link to="/keys">make one here</Link>{' '}
      if you have not kept yours.
    </p>
    {isOwnMachine() ? (
      <>
        <p>Only looking? In the folder where the service was started, this serves three customers in a few seconds:</p>
        <CodeBlock title="A second terminal" code={demoSnippet} />
      </>
    ) : null}
    <ol className="steps">
      <li>
        <h3>Install the SDK and give it the key</h3>
        <CodeBlock title="Terminal" code={`${installSnippet}\n${environmentSnippet('csk_…')}`} />
      </li>
      <li>
        <h3>Watch: see every tool call, change nothing</h3>
        <CodeBlock title="In your agent" code={observeSnippet} />
      </li>
      <li>
        <h3>Govern: write down what a tool may do, and let the server decide</h3>
        <CodeBlock title="A contract" code={contractSnippet} />
        <CodeBlock title="An agent, whole: node agent.mjs" code={governSnippet} />
      </li>
    </ol>
  </Empty>
)

const isOwnMachine = (): boolean => ['127.0.0.1', 'localhost', '[::1]'].includes(location.hostname)
