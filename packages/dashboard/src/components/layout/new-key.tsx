import { environmentSnippet, installSnippet, observeSnippet } from '../../text/snippets.js'
import { CodeBlock } from '../basic/code-block.js'
import { CopyButton } from '../basic/copy-button.js'

/** A key on the only occasion it is shown, and the first thing to do with it. */
export function NewKey({ apiKey }: { apiKey: string }) {
  return (
    <div className="new-key">
      <p className="lead">
        Keep it now: it is shown only this once. We keep a hash of it, from which it cannot be read back.
      </p>
      <div className="new-key-value">
        <code>{apiKey}</code>
        <CopyButton text={apiKey} label="Copy" what="the key" />
      </div>
      <h2>First thing to run</h2>
      <CodeBlock title="Terminal" code={`${installSnippet}\n${environmentSnippet(apiKey)}`} />
      <CodeBlock title="In your agent" code={observeSnippet} />
    </div>
  )
}
