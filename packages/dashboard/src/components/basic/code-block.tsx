import { CopyButton } from './copy-button.js'
import { Text } from './text.js'

/** Code to read or paste. */
export function CodeBlock({ code, title, copy = true }: { code: string; title?: string; copy?: boolean }) {
  return (
    <figure className="code-block">
      {title === undefined && !copy ? null : (
        <figcaption>
          <span>{title}</span>
          {copy ? <CopyButton text={code} what={title ?? 'the code'} /> : null}
        </figcaption>
      )}
      {/* Wide code scrolls, so a keyboard must be able to reach it. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region needs focus */}
      <pre tabIndex={0}>
        <code>
          <Text value={code} lines />
        </code>
      </pre>
    </figure>
  )
}
