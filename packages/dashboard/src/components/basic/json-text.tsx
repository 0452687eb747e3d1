import type { JsonValue } from '@countersign/protocol'
import { useState } from 'react'
import { Button } from './button.js'
import { Text } from './text.js'

const LINES = 12

/** JSON as text: one line when short, indented otherwise, collapsed when long. */
export function JsonText({ value }: { value: JsonValue }) {
  const [open, setOpen] = useState(false)
  const line = JSON.stringify(value)
  const text = line.length <= 88 ? spaced(line, value) : JSON.stringify(value, null, 2)
  const lines = text.split('\n')
  const folded = lines.length > LINES && !open
  return (
    <div className="json">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region needs focus */}
      <pre tabIndex={0}>
        <Text value={folded ? lines.slice(0, LINES).join('\n') : text} lines />
      </pre>
      {lines.length > LINES ? (
        <Button kind="quiet" onClick={() => setOpen(!open)} aria-expanded={open}>
          {open ? 'Collapse' : `Show all ${lines.length} lines`}
        </Button>
      ) : null}
    </div>
  )
}

/** A short object on one line is easier to read with spaces. */
const spaced = (line: string, value: JsonValue): string =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
    ? `{ ${Object.entries(value)
        .map(([key, entry]) => `${JSON.stringify(key)}: ${JSON.stringify(entry)}`)
        .join(', ')} }`
    : line
