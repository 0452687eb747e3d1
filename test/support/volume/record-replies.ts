import type { Answer, Input, RequestBody, RouteName, Routes } from '@countersign/protocol'
import { EXAMPLE } from '../../../packages/dashboard/src/pages/playground/example.js'
import type { Person } from '../runtime/person.js'
import type { LearnedReplies } from './learned-plan.js'
import { PAYEE } from './stories.js'

export type ReplyOf<N extends RouteName> = Answer<Routes[N]>
type Overviews = Record<NonNullable<Input<Routes['loadOverview']>['query']>['range'], ReplyOf<'loadOverview'>>

/** What the service answered to the pages of the dashboard, for the page tests. */
export interface RecordedReplies {
  /** When: the times of the replies are read relative to it. */
  readonly at: string
  readonly mainSession: string
  readonly me: ReplyOf<'me'>
  readonly overview: Overviews
  readonly sessions: ReplyOf<'listSessions'>['items']
  readonly calls: ReplyOf<'listCalls'>['items']
  readonly unanswered: ReplyOf<'listCalls'>['items']
  readonly captures: ReplyOf<'listCaptures'>['items']
  /** Of one session of each kind. */
  readonly details: Record<string, ReplyOf<'loadSessionDetail'>>
  readonly timelines: Record<string, ReplyOf<'loadTimeline'>>
  readonly acts: Record<string, ReplyOf<'listAudit'>['items']>
  readonly agents: ReplyOf<'listAgents'>
  readonly workflows: ReplyOf<'listWorkflows'>['items']
  readonly workflowDetails: Record<string, ReplyOf<'loadWorkflowDetail'>>
  readonly contracts: ReplyOf<'listContracts'>['contracts']
  readonly plans: ReplyOf<'listPlans'>['items']
  readonly planDetails: Record<string, ReplyOf<'loadPlan'>>
  readonly runs: ReplyOf<'listRuns'>['items']
  readonly run: ReplyOf<'loadRunDetail'>
  readonly keys: ReplyOf<'listKeys'>
  readonly members: ReplyOf<'listMembers'>
  readonly signIns: ReplyOf<'listSignIns'>
  readonly waysIn: ReplyOf<'listWaysIn'>
  readonly audit: ReplyOf<'listAudit'>['items']
  readonly limits: ReplyOf<'loadLimits'>
  readonly sharedLimits: ReplyOf<'listSharedLimits'>
  readonly limitsOfKey: ReplyOf<'listSharedLimits'>
  readonly proof: ReplyOf<'loadProof'>
  readonly exported: ReplyOf<'exportEventsByPerson'>
  readonly playground: ReplyOf<'judgePlayground'>
  readonly learned: LearnedReplies
}

const RANGES = ['1h', '24h', '7d', '30d'] as const

/** Asks as a person does, and throws if that is refused. */
export const askAs =
  (person: Person) =>
  async <N extends RouteName>(
    name: N,
    given: { params?: Record<string, string>; query?: Record<string, string>; body?: RequestBody<Routes[N]> } = {},
  ): Promise<ReplyOf<N>> => {
    const { status, body, text } = await person.call(name, given)
    if (status >= 300) throw new Error(`${name} answered ${status}: ${text}`)
    return body as ReplyOf<N>
  }

export async function loadOverviews(person: Person): Promise<Overviews> {
  const found = RANGES.map(async (range) => [range, await askAs(person)('loadOverview', { query: { range } })])
  return Object.fromEntries(await Promise.all(found)) as Overviews
}

/** Asks for everything that the pages show, but for a learned plan. */
export async function recordReplies(
  person: Person,
  mainSession: string,
): Promise<Omit<RecordedReplies, 'learned' | 'at'>> {
  const ask = askAs(person)
  const all = async <N extends 'listSessions' | 'listCalls' | 'listAudit' | 'listWorkflows' | 'listPlans' | 'listRuns'>(
    name: N,
    query: Record<string, string> = {},
  ): Promise<ReplyOf<N>['items']> => {
    const items: unknown[] = []
    let cursor: string | null = null
    do {
      const page: { items: unknown[]; next: string | null } = await ask(name, {
        query: { limit: '200', ...query, ...(cursor === null ? {} : { cursor }) },
      })
      items.push(...page.items)
      cursor = page.next
    } while (cursor !== null)
    return items as ReplyOf<N>['items']
  }
  const byId = async <T>(ids: readonly string[], load: (id: string) => Promise<T>): Promise<Record<string, T>> => {
    const found: [string, T][] = []
    for (const id of ids) found.push([id, await load(id)])
    return Object.fromEntries(found)
  }
  const sessions = await all('listSessions')
  const shown = oneOfEach(sessions, mainSession)
  const workflows = await all('listWorkflows')
  const plans = await all('listPlans')
  const runs = await all('listRuns')
  return {
    mainSession,
    me: await ask('me'),
    overview: await loadOverviews(person),
    sessions,
    calls: await all('listCalls'),
    unanswered: await all('listCalls', { unanswered: '1' }),
    captures: (await ask('listCaptures')).items,
    details: await byId(shown, (session_id) => ask('loadSessionDetail', { params: { session_id } })),
    timelines: await byId(shown, (session_id) => ask('loadTimeline', { params: { session_id } })),
    acts: await byId(
      [...shown, ...workflows.map(({ workflow_id }) => workflow_id), ...plans.map(({ plan_id }) => plan_id)],
      (subject) => all('listAudit', { subject }),
    ),
    agents: await ask('listAgents'),
    workflows,
    workflowDetails: await byId(
      workflows.map(({ workflow_id }) => workflow_id),
      (workflow_id) => ask('loadWorkflowDetail', { params: { workflow_id } }),
    ),
    contracts: (await ask('listContracts')).contracts,
    plans,
    planDetails: await byId(
      plans.map(({ plan_id }) => plan_id),
      (plan_id) => ask('loadPlan', { params: { plan_id } }),
    ),
    runs,
    run: await ask('loadRunDetail', { params: { run_id: runs[0]?.run_id ?? '' } }),
    keys: await ask('listKeys'),
    members: await ask('listMembers'),
    signIns: await ask('listSignIns'),
    waysIn: await ask('listWaysIn'),
    audit: (await all('listAudit')).slice(0, 40),
    limits: await ask('loadLimits'),
    sharedLimits: await ask('listSharedLimits'),
    limitsOfKey: await ask('listSharedLimits', { query: { key: PAYEE } }),
    proof: await ask('loadProof', { params: { session_id: mainSession } }),
    exported: await ask('exportEventsByPerson', { params: { session_id: mainSession } }),
    playground: await ask('judgePlayground', {
      body: {
        contracts: EXAMPLE.contracts.split('---\n').map((text, at) => ({ file: `contract-${at + 1}.yaml`, text })),
        response: JSON.parse(EXAMPLE.response),
      },
    }),
  }
}

/** The main session, and the first of each agent, state and reason. */
function oneOfEach(sessions: readonly ReplyOf<'listSessions'>['items'][number][], mainSession: string): string[] {
  const kinds = new Map<string, string>()
  for (const { session_id, agent, status, last_reason, unanswered } of sessions) {
    const kind = `${agent} ${status} ${last_reason} ${unanswered > 0}`
    if (!kinds.has(kind)) kinds.set(kind, session_id)
  }
  return [...new Set([mainSession, ...kinds.values()])]
}
