import type { JsonObject, JsonValue } from '@countersign/protocol'
import { None } from '../../components/basic/none.js'
import { Name, Text } from '../../components/basic/text.js'
import { count } from '../../text/format.js'

/** Every argument of a call, none of it folded, cut or behind an edge: a person decides about all of it. */
export function WholeArguments({ value }: { value: JsonObject }) {
  const entries = Object.entries(value)
  if (entries.length === 0) return <p className="quiet">The call has no arguments.</p>
  return (
    <dl className="whole">
      {entries.map(([name, argument]) => (
        <div key={name}>
          <dt>
            <Name value={name} />
          </dt>
          <dd>
            <Whole value={argument} />
          </dd>
        </div>
      ))}
    </dl>
  )
}

const LINE = 200

/** Text of several lines as it reads, with its length; everything else as JSON, so that 5 and "5" look different. */
function Whole({ value }: { value: JsonValue }) {
  if (typeof value === 'string' && (value.length > LINE || value.includes('\n'))) {
    return (
      <>
        <pre>
          <Text value={value} lines />
        </pre>
        <span className="cell-note">{count(value.length)} characters of text</span>
      </>
    )
  }
  const line = JSON.stringify(value)
  if (value === null || typeof value !== 'object' || line.length <= 60) return <Name value={line} />
  return (
    <pre>
      <Text value={JSON.stringify(value, null, 2)} lines />
    </pre>
  )
}

const SHOWN = 400

/** A value beside others: the beginning of one that is long, and how long it is. */
export function ShortValue({ value }: { value: JsonValue | undefined }) {
  if (value === undefined) return <None />
  const text = JSON.stringify(value)
  if (text.length <= SHOWN) return <Name value={text} />
  return (
    <>
      <Name value={text.slice(0, SHOWN)} />
      <span className="cell-note">
        the first {SHOWN} of {count(text.length)} characters
      </span>
    </>
  )
}
