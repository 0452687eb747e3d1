import { Link } from '@tanstack/react-router'
import { contractSnippet, environmentSnippet, governSnippet, installSnippet, observeSnippet } from '../snippets.js'
import { CodeBlock } from './code-block.js'
import { Empty } from './states.js'

/** What an account without sessions sees: the way to the first one. */
export const FirstSteps = () => (
  <Empty title="Nothing has happened yet">
    <p>
      Connect an agent and this page comes to life by itself. It needs an API key; <Link to="/keys">make one here</Link>{' '}
      if you have not kept yours.
    </p>
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
        <CodeBlock title="In your agent" code={governSnippet} />
      </li>
    </ol>
  </Empty>
)
