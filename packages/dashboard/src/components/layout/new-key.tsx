import { environmentSnippet, installSnippet, observeSnippet } from '../../text/snippets.js'
import { CodeBlock } from '../basic/code-block.js'
import { CopyButton } from '../basic/copy-button.js'

/** A new key, shown only here, and how to use it. */
export function NewKey({ apiKey }: { apiKey: string }) {
  return (
    <div className="new-key">
      <p className="lead">
        Save it now: it is shown only once. Only a hash of it is stored, so it cannot be shown again.
      </p>
      <div className="new-key-value">
        <code>{apiKey}</code>
        <CopyButton text={apiKey} label="Copy" what="the key" />
      </div>
      <h2>Get started</h2>
      <CodeBlock title="Terminal" code={`${installSnippet}\n${environmentSnippet(apiKey)}`} />
      <CodeBlock title="In your agent" code={observeSnippet} />
    </div>
  )
}
