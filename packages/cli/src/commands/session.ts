import { parseArgs } from 'node:util'
import {
  type Answer,
  idSchema,
  type Routes,
  SESSION_STATUSES,
  type SessionRow,
  type SessionStatus,
} from '@countersign/protocol'
import { callRoute, RefusedError, type Service, serviceOf } from '../api/call-route.js'
import { columns } from '../terminal/columns.js'
import { type Command, type Terminal, UsageError } from '../terminal/command.js'

const SERVICE = '[--json] [--url URL] [--key KEY]'

export const session: Command = {
  usage: [
    `session list [--agent NAME] [--status STATUS] [--running] [--limit N] ${SERVICE}`,
    `session show ID ${SERVICE}`,
    `session kill ID [--reason TEXT] ${SERVICE}`,
  ],
  summary: 'list sessions, newest first; show one; kill one, for good',
  help: () =>
    [
      `STATUS is one of ${SESSION_STATUSES.join(', ')}. --running lists those that a program holds now. N is 50 if not given.`,
      'A killed session cannot go on: its next request is refused, and its wrapped tools start no more,',
      'but for calls that were allowed within the last five seconds. A tool that runs is not stopped.',
      'To kill all sessions of an agent: countersign agent stop NAME.',
      'Without --url and --key, COUNTERSIGN_API_URL and COUNTERSIGN_API_KEY are used.',
      'Exit codes: 0 done; 1 unknown session, or the server refused or cannot be reached; 2 wrong usage.',
    ].join('\n'),
  run: async (args, terminal) => {
    const { act, service } = readArguments(args)
    try {
      await act(service, terminal)
      return 0
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error
      terminal.note(`error ${error.message}`)
      return 1
    }
  },
}

type Act = (service: Service, terminal: Terminal) => Promise<void>

function readArguments(args: readonly string[]): { act: Act; service: Service } {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean' } as const
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { agent: text, status: text, limit: text, reason: text, running: flag, json: flag, url: text, key: text },
    allowPositionals: true,
  })
  const { json = false, agent, status, limit, reason, running = false } = values
  const [verb, id, ...rest] = positionals
  const filters = agent !== undefined || status !== undefined || limit !== undefined || running
  const wrong = new UsageError('expected: session list, session show ID, or session kill ID')
  if (rest.length > 0) throw wrong
  if (verb === 'list' && id === undefined && reason === undefined) {
    const query = {
      ...(agent !== undefined && { agent }),
      ...(status !== undefined && { status: statusOf(status) }),
      ...(running && { activity: 'running' }),
    }
    return { act: list(query, limitOf(limit), json), service: serviceOf(values) }
  }
  if ((verb !== 'show' && verb !== 'kill') || id === undefined || filters) throw wrong
  if (!idSchema.safeParse(id).success) throw new UsageError(`${id} is no id of a session`)
  if (verb === 'kill') return { act: kill(id, reason, json), service: serviceOf(values) }
  if (reason !== undefined) throw wrong
  return { act: show(id, json), service: serviceOf(values) }
}

function statusOf(given: string): SessionStatus {
  const status = SESSION_STATUSES.find((known) => known === given.toUpperCase())
  if (status === undefined) throw new UsageError(`--status must be one of ${SESSION_STATUSES.join(', ')}`)
  return status
}

function limitOf(given = '50'): number {
  const limit = /^\d{1,6}$/.test(given) ? Number(given) : 0
  if (limit === 0) throw new UsageError('--limit must be a whole number from 1 to 999999')
  return limit
}

const MAX_PAGE = 200

const list =
  (filter: Record<string, string>, limit: number, json: boolean): Act =>
  async (service, { print, note }) => {
    const rows: SessionRow[] = []
    let cursor: string | null = null
    do {
      const query = { ...filter, limit: String(Math.min(limit - rows.length, MAX_PAGE)), ...(cursor && { cursor }) }
      const page: Answer<Routes['listSessionsByKey']> = await callRoute(service, 'listSessionsByKey', { query })
      rows.push(...page.items)
      cursor = page.next
    } while (cursor !== null && rows.length < limit)
    if (json) print(JSON.stringify({ sessions: rows, more: cursor !== null }, null, 2))
    else for (const line of columns(rows.map(lineOf))) print(line)
    if (!json && rows.length === 0) note('no session')
    if (!json && cursor !== null) note('there are more: raise --limit')
  }

const lineOf = (row: SessionRow): string[] => [
  row.session_id,
  row.agent ?? '-',
  row.environment ?? '-',
  row.status,
  row.activity,
  `started ${row.created_at}`,
  `${row.allowed} allowed`,
  `${row.blocked} blocked${row.last_reason === null ? '' : ` (${row.last_reason})`}`,
]

const show =
  (id: string, json: boolean): Act =>
  async (service, { print }) => {
    const answer = await callRoute(service, 'loadSession', {
      params: { session_id: id },
      query: { include: 'pending' },
    })
    if (json) {
      print(JSON.stringify(answer, null, 2))
      return
    }
    const { session: view, pending = [] } = answer
    const { state } = view
    const facts: [string, string][] = [
      ['session', view.session_id],
      ['status', `${view.status}, ${view.activity}`],
      ['agent', `${view.agent ?? '-'} (${view.environment ?? 'no environment'})`],
      ['started', view.created_at],
      ['held until', view.lease_until],
      ['phase', state.currentPhase ?? '-'],
      ['principal', PROOF_WORDS[view.principal_proof ?? 'none']],
      ['labels', view.labels.join(', ') || '-'],
      ['calls', `${state.totalToolCalls} allowed, ${state.totalBlockCount} blocks, ${state.totalStepCount} steps`],
      ['plan', `${view.compiled_hash} (${view.plan_source})`],
      ...(view.workflow_id === null ? [] : [['workflow', view.workflow_id] as [string, string]]),
      ...pending.map((call): [string, string] => [call.state, `${call.tool_name}, proposed ${call.proposed_at}`]),
    ]
    for (const line of columns(facts)) print(line)
  }

const PROOF_WORDS = {
  proven: 'proven by a token',
  as_told: 'as its program told',
  no_person: 'no person, as its key says',
  none: '-',
} as const

const kill =
  (id: string, reason: string | undefined, json: boolean): Act =>
  async (service, { print }) => {
    const body = reason === undefined ? {} : { reason: reasonOf(reason) }
    const answer = await callRoute(service, 'killSession', { params: { session_id: id }, body })
    print(json ? JSON.stringify({ session_id: id, ...answer }, null, 2) : `session ${id} is ${answer.status}`)
  }

export function reasonOf(given: string): string {
  if (given.length > 500) throw new UsageError('--reason must have at most 500 characters')
  return given
}
