import {
  Background,
  type Edge,
  Handle,
  MarkerType,
  type Node,
  type NodeChange,
  type NodeProps,
  Position,
  ReactFlow,
  type ReactFlowInstance,
} from '@xyflow/react'
import '@xyflow/react/dist/base.css'
import { Link } from '@tanstack/react-router'
import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import type { Answer } from '../../api/api.js'
import { StatusBadge } from '../../components/basic/badge.js'
import { Text } from '../../components/basic/text.js'
import { plainText } from '../../text/visible-text.js'
import { rolesByDepth } from './roles-by-depth.js'

type Workflow = Answer<'loadWorkflowDetail'>
type RoleNode = Node<{ role: string; root: boolean; sessions: Workflow['sessions'] }, 'role'>

/** A wide screen reads from left to right, a narrow one from top to bottom. */
const LAYOUTS = {
  wide: { along: 340, across: 176, enters: Position.Left, leaves: Position.Right },
  narrow: { along: 136, across: 162, enters: Position.Top, leaves: Position.Bottom },
} as const

/** Roles in the order of the definition, with their sessions; an edge is a possible or actual handoff. */
export function WorkflowGraph({ workflow }: { workflow: Workflow }) {
  const shape = useNarrow() ? 'narrow' : 'wide'
  const [sizes, keepSizes] = useSizes()
  const nodes = useMemo(
    () => nodesOf(workflow, shape).map((node) => ({ ...node, measured: sizes.get(node.id) ?? {} })),
    [workflow, shape, sizes],
  )
  const edges = useMemo(() => edgesOf(workflow), [workflow])
  const [graph, setGraph] = useState<ReactFlowInstance<RoleNode> | null>(null)
  const frame = useRef<HTMLDivElement>(null)
  const fit = FITS[shape]
  // Whatever changes the size of the frame or of a role would leave part of the graph outside.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the measured sizes are what it fits to
  useEffect(() => {
    const element = frame.current
    if (graph === null || element === null) return
    const observer = new ResizeObserver(() => void graph.fitView(fit))
    observer.observe(element)
    void graph.fitView(fit)
    return () => observer.disconnect()
  }, [graph, fit, sizes])
  return (
    <div className="graph" ref={frame}>
      <ReactFlow
        key={shape}
        nodes={nodes}
        edges={edges}
        onNodesChange={keepSizes}
        nodeTypes={NODE_TYPES}
        fitView
        fitViewOptions={fit}
        onInit={setGraph}
        minZoom={0.3}
        nodesDraggable={false}
        nodesConnectable={false}
        edgesFocusable={false}
        nodesFocusable={false}
        zoomOnScroll={false}
        preventScrolling={false}
        proOptions={{ hideAttribution: true }}
      >
        <Background gap={22} size={1} color="var(--line)" />
      </ReactFlow>
    </div>
  )
}

const FITS = { wide: { padding: 0.12, maxZoom: 1 }, narrow: { padding: 0.04, maxZoom: 1 } } as const

type Sizes = ReadonlyMap<string, { width: number; height: number }>

/** The sizes the graph measured, passed back to it: without them, nodes would flicker on every update. */
function useSizes() {
  const [sizes, setSizes] = useState<Sizes>(() => new Map())
  const keep = useCallback((changes: NodeChange<RoleNode>[]) => {
    const found = changes.flatMap((change) =>
      change.type === 'dimensions' && change.dimensions !== undefined ? [[change.id, change.dimensions] as const] : [],
    )
    if (found.length > 0) setSizes((before) => new Map([...before, ...found]))
  }, [])
  return [sizes, keep] as const
}

function Role({ data, targetPosition = Position.Left, sourcePosition = Position.Right }: NodeProps<RoleNode>) {
  return (
    <div className="role">
      <Handle type="target" position={targetPosition} />
      <h3>
        <Text value={data.role} />
        {data.root ? <span className="quiet"> starts the workflow</span> : null}
      </h3>
      {data.sessions.length === 0 ? <p className="quiet">no sessions yet</p> : null}
      <ul>
        {data.sessions.slice(0, 3).map((session) => (
          <li key={session.session_id}>
            <Link to="/sessions/$sessionId" params={{ sessionId: session.session_id }} className="nodrag nopan">
              <Text value={session.session_id} className="name" />
            </Link>
            <StatusBadge status={session.status} activity={session.activity} />
          </li>
        ))}
      </ul>
      {data.sessions.length > 3 ? <p className="quiet">and {data.sessions.length - 3} more</p> : null}
      <Handle type="source" position={sourcePosition} />
    </div>
  )
}

const narrow = matchMedia('(max-width: 720px)')

function useNarrow(): boolean {
  return useSyncExternalStore(
    (listener) => {
      narrow.addEventListener('change', listener)
      return () => narrow.removeEventListener('change', listener)
    },
    () => narrow.matches,
  )
}

const NODE_TYPES = { role: Role }

function nodesOf({ definition, sessions }: Workflow, shape: keyof typeof LAYOUTS): RoleNode[] {
  const { along, across, enters, leaves } = LAYOUTS[shape]
  const edges = definition.handoffs ?? []
  return rolesByDepth(Object.keys(definition.roles), edges).flatMap((column, depth) =>
    column.map(
      (role, place): RoleNode => ({
        id: role,
        type: 'role',
        position: shape === 'wide' ? { x: depth * along, y: place * across } : { x: place * across, y: depth * along },
        targetPosition: enters,
        sourcePosition: leaves,
        data: {
          role,
          root: definition.roles[role]?.root === true,
          sessions: sessions.filter((session) => session.role === role),
        },
      }),
    ),
  )
}

function edgesOf({ definition, handoffs }: Workflow): Edge[] {
  return (definition.handoffs ?? []).map(({ from, to }) => {
    const made = handoffs.filter((handoff) => handoff.from_role === from && handoff.to_role === to)
    const open = made.some(({ state }) => state === 'offered' || state === 'accepted')
    return {
      id: `${from} ${to}`,
      source: from,
      target: to,
      animated: open,
      className: made.length === 0 ? 'edge-possible' : open ? 'edge-open' : 'edge-done',
      markerEnd: { type: MarkerType.ArrowClosed, color: 'var(--ink-3)' },
      ...(made.length === 0 ? {} : { label: plainText(made.map(({ state }) => state).join(', ')) }),
    }
  })
}
