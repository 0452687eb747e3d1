import { useNavigate, useSearch } from '@tanstack/react-router'
import type { Answer } from '../api/api.js'
import { useApi } from '../api/use-api.js'
import { Badge } from '../components/basic/badge.js'
import { Button } from '../components/basic/button.js'
import { Name, Text } from '../components/basic/text.js'
import { Ago } from '../components/basic/time.js'
import { Freshness, Page } from '../components/layout/page.js'
import { NoneSoFar, Pager } from '../components/layout/pager.js'
import { Empty, Loaded } from '../components/layout/states.js'
import { AgentFilter, type Search, TextFilter } from './sessions/filter-fields.js'

type CaptureRow = Answer<'listCaptures'>['items'][number]

/** The answers of models that contracts are learned from. */
export function CapturesPage() {
  const search: Search = useSearch({ from: '/signed-in/captures' })
  const navigate = useNavigate()
  const { agent, tool, cursor } = search
  const captures = useApi('listCaptures', { query: { agent, tool, cursor } }, { pollMs: 10_000, keepLast: true })
  const show = (next: Record<string, string>) => void navigate({ to: '/captures', search: next, replace: true })
  const change = (changed: Record<string, string>) => show({ ...search, ...changed, cursor: '' })
  const filtered = Object.values(search).some((value) => value !== '')
  return (
    <Page
      title="Captures"
      lead="Answers of models, as they were recorded. Contracts are learned from them, and keep what they learned when captures expire."
      actions={<Freshness reading={captures} />}
    >
      <search className="filters">
        <AgentFilter search={search} onChange={change} />
        <TextFilter
          label="Tool"
          name="tool"
          value={tool ?? ''}
          onChange={(name, value) => change({ [name]: value })}
          placeholder="Exact name"
        />
        {filtered ? (
          <Button kind="quiet" icon="close" onClick={() => show({})}>
            Clear
          </Button>
        ) : null}
      </search>
      <Loaded reading={captures} rows={8}>
        {({ items, next }) =>
          items.length === 0 && next !== null ? (
            <NoneSoFar to="/captures" search={search} what="captures" next={next} />
          ) : items.length === 0 ? (
            <Empty title="No captures">
              <p>Nothing was recorded, or it has expired: see the retention of your service.</p>
            </Empty>
          ) : (
            <>
              <CapturesTable rows={items} />
              <Pager to="/captures" search={search} what="captures" next={next} />
            </>
          )
        }
      </Loaded>
    </Page>
  )
}

const DECISIONS = {
  allow: { tone: 'allow', word: 'Allowed' },
  block: { tone: 'block', word: 'Blocked' },
} as const

const CapturesTable = ({ rows }: { rows: readonly CaptureRow[] }) => (
  <table className="table table-cards">
    <thead>
      <tr>
        <th scope="col">Calls</th>
        <th scope="col">Decision</th>
        <th scope="col">Conversation</th>
        <th scope="col">Holds</th>
        <th scope="col" className="right">
          When
        </th>
      </tr>
    </thead>
    <tbody>
      {rows.map((row) => (
        <tr key={row.capture_id}>
          <th scope="row" className="cell-main">
            {row.tool_names.length === 0 ? (
              <span className="quiet">no call</span>
            ) : (
              <Name value={row.tool_names.join(', ')} />
            )}
          </th>
          <td data-label="Decision">
            {row.decision === null ? (
              <span className="quiet">Not judged</span>
            ) : (
              <Badge tone={DECISIONS[row.decision].tone}>{DECISIONS[row.decision].word}</Badge>
            )}
          </td>
          <td data-label="Conversation">
            <Name value={row.conversation_id} />
            <span className="cell-note">
              <Text value={row.agent} />
            </span>
          </td>
          <td data-label="Holds">{row.capture_level}</td>
          <td data-label="When" className="right nowrap">
            <Ago at={row.at} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)
