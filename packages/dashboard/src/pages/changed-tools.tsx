import type { ToolPin } from '@countersign/protocol'
import { useState } from 'react'
import { useApi, useChange } from '../api/use-api.js'
import { Allowed } from '../components/basic/allowed.js'
import { Button } from '../components/basic/button.js'
import { Name, Text } from '../components/basic/text.js'
import { Ago } from '../components/basic/time.js'
import { ConfirmDialog } from '../components/form/confirm-dialog.js'
import { Panel } from '../components/layout/page.js'

/** Tools of MCP servers whose definition changed after they were used; nothing where there are none. */
export function ChangedTools() {
  const { data } = useApi('listToolPins', {}, { pollMs: 15_000, keepLast: true })
  if (data === undefined || data.pins.length === 0) return null
  return (
    <Panel title="Tools that have changed" aside="Blocked until you approve them">
      <ul className="rows">
        {data.pins.map((pin) => (
          <ChangedTool key={[pin.agent, pin.environment, pin.server, pin.tool_name].join(' ')} pin={pin} />
        ))}
      </ul>
    </Panel>
  )
}

function ChangedTool({ pin }: { pin: ToolPin }) {
  const [isAsking, setIsAsking] = useState(false)
  const approve = useChange('approveToolPin', ['listToolPins', 'listAudit'])
  const { agent, environment, server, tool_name, definition, changed } = pin
  if (changed === null) return null
  const name = server === '' ? tool_name : `${server}__${tool_name}`
  const confirm = () =>
    approve.mutate(
      { body: { agent, environment, server, tool_name, hash: changed.hash } },
      { onSuccess: () => setIsAsking(false) },
    )
  return (
    <li className="changed-tool">
      <div className="toolbar">
        <strong>
          <Name value={name} />
        </strong>
        <span className="quiet">
          of <Name value={agent} /> in {environment}, seen <Ago at={changed.seen_at} />
        </span>
        <Allowed to="approveToolPin" otherwise="An owner can approve the change.">
          <Button onClick={() => setIsAsking(true)}>Approve the change</Button>
        </Allowed>
      </div>
      <div className="two-definitions">
        <Definition title="Approved" of={definition} besides={changed.definition} />
        <Definition title="Now" of={changed.definition} besides={definition} />
      </div>
      {isAsking ? (
        <ConfirmDialog
          title="Approve what this tool has become?"
          confirm="Approve"
          change={approve}
          onClose={() => setIsAsking(false)}
          onConfirm={confirm}
        >
          <p>
            <Name value={name} /> can be called again. The model reads its new description: look for instructions in it.
          </p>
        </ConfirmDialog>
      ) : null}
    </li>
  )
}

interface DefinitionProps {
  readonly title: string
  readonly of: ToolPin['definition']
  readonly besides: ToolPin['definition']
}

/** Wrapped, so that nothing stands beyond an edge, and with the lines marked that the other definition has not. */
function Definition({ title, of, besides }: DefinitionProps) {
  const other = new Set(linesOf(besides))
  return (
    <figure className="code-block">
      <figcaption>{title}</figcaption>
      <pre>
        {linesOf(of).map((line, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: equal lines differ by their place only
          <code key={at} className={other.has(line) ? undefined : 'line-changed'}>
            <Text value={line} />
          </code>
        ))}
      </pre>
    </figure>
  )
}

/** Without commas at the ends: a line does not differ because another follows it. */
const linesOf = (definition: ToolPin['definition']): string[] =>
  JSON.stringify(definition, null, 2)
    .split('\n')
    .map((line) => line.replace(/,$/, ''))
