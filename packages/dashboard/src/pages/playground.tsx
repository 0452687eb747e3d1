import type { JsonValue } from '@countersign/protocol'
import { useState } from 'react'
import { useChange } from '../api/use-api.js'
import { Button } from '../components/basic/button.js'
import { FormProblem } from '../components/form/form-problem.js'
import { Segments } from '../components/form/segments.js'
import { Page, Panel } from '../components/layout/page.js'
import { EXAMPLE } from './playground/example.js'
import { PlaygroundResult } from './playground/playground-result.js'

/** Paste a response and contracts, and see how the server decides, rule by rule. */
export function PlaygroundPage() {
  const [contracts, setContracts] = useState(EXAMPLE.contracts)
  const [session, setSession] = useState('')
  const [response, setResponse] = useState(EXAMPLE.response)
  const [labels, setLabels] = useState('')
  const [unmatched, setUnmatched] = useState<'block' | 'allow'>('block')
  const [broken, setBroken] = useState<string | null>(null)
  const evaluate = useChange('judgePlayground')
  const submit = () => {
    const parsed = parseJson(response)
    setBroken(parsed.ok ? null : parsed.problem)
    if (!parsed.ok) return
    evaluate.mutate({
      body: {
        contracts: splitContracts(contracts),
        response: parsed.value,
        unmatched_policy: unmatched,
        labels: labels.split(/[\s,]+/).filter((label) => label !== ''),
        ...(session.trim() === '' ? {} : { session }),
      },
    })
  }
  return (
    <Page
      title="Playground"
      lead="Uses the same engine as your sessions, starting from a new session. Nothing is stored."
      actions={
        <Button kind="primary" icon="playground" busy={evaluate.isPending} onClick={submit}>
          Evaluate
        </Button>
      }
    >
      <div className="columns">
        <Panel title="Contracts" aside="YAML, separated by ---">
          <Area label="Contracts" value={contracts} rows={18} onChange={setContracts} />
          <details className="more">
            <summary>Session definition, labels, unmatched tools</summary>
            <div className="form">
              <div className="field">
                <label htmlFor="playground-session">session.yaml (optional)</label>
                <Area id="playground-session" value={session} rows={6} onChange={setSession} />
              </div>
              <div className="field">
                <label htmlFor="playground-labels">Session labels</label>
                <input id="playground-labels" value={labels} onChange={(event) => setLabels(event.target.value)} />
              </div>
              <Segments
                label="Tools without a contract"
                options={UNMATCHED}
                value={unmatched}
                onChange={setUnmatched}
              />
            </div>
          </details>
        </Panel>
        <Panel title="Model response" aside="OpenAI, Anthropic or normalized JSON">
          <Area label="Model response" value={response} rows={18} onChange={setResponse} />
          {broken === null ? null : (
            <p className="form-problem" role="alert">
              The response is not JSON: {broken}
            </p>
          )}
        </Panel>
      </div>
      <FormProblem problem={evaluate.error} />
      {evaluate.data === undefined ? null : <PlaygroundResult view={evaluate.data} />}
    </Page>
  )
}

const UNMATCHED = [
  { value: 'block', label: 'Block tools without a contract' },
  { value: 'allow', label: 'Allow them' },
] as const

interface AreaProps {
  readonly id?: string
  readonly label?: string
  readonly value: string
  readonly rows: number
  readonly onChange: (value: string) => void
}

const Area = ({ id, label, value, rows, onChange }: AreaProps) => (
  <textarea
    id={id}
    aria-label={label}
    rows={rows}
    value={value}
    spellCheck={false}
    autoCapitalize="off"
    onChange={(event) => onChange(event.target.value)}
  />
)

/** One file per YAML document, named after its tool where it names one. */
function splitContracts(text: string): { file: string; text: string }[] {
  return text
    .split(/^---\s*$/m)
    .filter((part) => part.trim() !== '')
    .map((part, at) => ({
      file: `${/^tool:\s*([\w-]{1,100})\s*$/m.exec(part)?.[1] ?? `contract-${at + 1}`}.yaml`,
      text: part,
    }))
}

type Parsed = { ok: true; value: JsonValue } | { ok: false; problem: string }

function parseJson(text: string): Parsed {
  try {
    return { ok: true, value: JSON.parse(text) as JsonValue }
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message : 'it could not be read' }
  }
}
