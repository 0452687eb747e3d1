import type { HandoffView, SessionActivity } from '@countersign/protocol'
import { Link, useParams, useSearch } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import type { Answer } from '../api/api.js'
import { useApi } from '../api/use-api.js'
import { Allowed } from '../components/basic/allowed.js'
import { Badge, StatusBadge, type Tone } from '../components/basic/badge.js'
import { Labels } from '../components/basic/labels.js'
import { Name, Text } from '../components/basic/text.js'
import { Ago } from '../components/basic/time.js'
import { Freshness, Page, Panel } from '../components/layout/page.js'
import { Loaded, Loading } from '../components/layout/states.js'
import { fullTime } from '../text/format.js'
import { KillWorkflow } from './workflow/kill-workflow.js'

type Workflow = Answer<'loadWorkflowDetail'>
const WorkflowGraph = lazy(() =>
  import('./workflow/workflow-graph.js').then((module) => ({ default: module.WorkflowGraph })),
)

export function WorkflowPage() {
  const { workflowId } = useParams({ from: '/signed-in/workflows/$workflowId' })
  const { handoffs } = useSearch({ from: '/signed-in/workflows/$workflowId' })
  const workflow = useApi('loadWorkflowDetail', { params: { workflow_id: workflowId } }, { pollMs: 4_000 })
  return (
    <Page
      title={`Workflow ${workflowId}`}
      heading={<Text value={workflowId} className="heading-name" />}
      lead={
        workflow.data === undefined ? undefined : (
          <>
            <StatusBadge status={workflow.data.status} activity={activityOf(workflow.data)} />, opened{' '}
            <Ago at={workflow.data.created_at} />
          </>
        )
      }
      actions={
        <>
          <Freshness reading={workflow} />
          {workflow.data === undefined || workflow.data.status === 'KILLED' ? null : (
            <Allowed to="killWorkflowByPerson" otherwise="An approver can kill it.">
              <KillWorkflow workflow={workflow.data} />
            </Allowed>
          )}
        </>
      }
    >
      <Loaded reading={workflow} rows={6}>
        {(data) => (
          <>
            <Panel title="Roles, sessions and handoffs">
              <Suspense fallback={<Loading rows={5} label="Loading the graph" />}>
                <WorkflowGraph workflow={data} />
              </Suspense>
            </Panel>
            <div className="columns">
              <Panel
                title={handoffs === 'open' ? 'Open handoffs' : 'Handoffs'}
                aside={
                  handoffs === 'open' ? (
                    <Link to="/workflows/$workflowId" params={{ workflowId }}>
                      All handoffs
                    </Link>
                  ) : undefined
                }
              >
                <Handoffs handoffs={handoffs === 'open' ? openHandoffs(data) : data.handoffs} />
              </Panel>
              <Panel title="Held resources">
                <Resources workflow={data} />
              </Panel>
            </div>
            <Panel title="Workflow labels">
              <Labels labels={data.labels} />
            </Panel>
          </>
        )}
      </Loaded>
    </Page>
  )
}

/** A workflow runs as long as one of its sessions does. */
function activityOf({ sessions }: Workflow): SessionActivity {
  const all = new Set(sessions.map(({ activity }) => activity))
  return all.has('running') ? 'running' : all.has('idle') ? 'idle' : 'ended'
}

const TONES: Record<HandoffView['state'], Tone> = {
  offered: 'warn',
  accepted: 'accent',
  completed: 'allow',
  reclaimed: 'doubt',
  expired: 'neutral',
}

/** Handoffs of a killed workflow are never completed. */
const openHandoffs = ({ status, handoffs }: Workflow): readonly HandoffView[] =>
  status === 'KILLED' ? [] : handoffs.filter(({ state }) => state === 'offered' || state === 'accepted')

function Handoffs({ handoffs }: { handoffs: readonly HandoffView[] }) {
  if (handoffs.length === 0) return <p className="quiet">No handoffs.</p>
  return (
    <ul className="rows">
      {handoffs.map((handoff) => (
        <li key={handoff.handoff_id} className="handoff" data-part>
          <p>
            <Badge tone={TONES[handoff.state]}>{handoff.state}</Badge> <Text value={handoff.from_role} /> to{' '}
            <Text value={handoff.to_role} />, <Ago at={handoff.offered_at} />
          </p>
          {handoff.note === null ? null : (
            <p className="quiet">
              <Text value={handoff.note} />
            </p>
          )}
          <p className="cell-note">
            {handoff.tools === null ? 'with all tools of the role' : 'with '}
            {handoff.tools === null ? null : <Name value={handoff.tools.join(', ')} />}
          </p>
        </li>
      ))}
    </ul>
  )
}

function Resources({ workflow: { resources } }: { workflow: Workflow }) {
  if (resources.length === 0) return <p className="quiet">No resources are held.</p>
  return (
    <ul className="rows">
      {resources.map((resource) => (
        <li key={`${resource.key} ${resource.pending_call_id}`} className="handoff">
          <p>
            <Name value={resource.key} />{' '}
            <Badge tone={resource.mode === 'exclusive' ? 'warn' : 'neutral'}>{resource.mode}</Badge>
          </p>
          <p className="cell-note">
            held by{' '}
            <Link to="/sessions/$sessionId" params={{ sessionId: resource.session_id }}>
              <Name value={resource.session_id} />
            </Link>
            {resource.ends_at === null ? null : `, which was killed; held until ${fullTime(resource.ends_at)}`}
          </p>
        </li>
      ))}
    </ul>
  )
}
