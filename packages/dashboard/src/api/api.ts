import {
  type ErrorCode,
  type Input,
  type Problem,
  pathOf,
  type Answer as ReplyOf,
  type RequestBody,
  type Role,
  type Route,
  type RouteName,
  type Routes,
} from '@countersign/protocol'

/** Calls one route and returns its reply; throws ApiProblem for everything else. */
export async function call<N extends Callable>(name: N, input: CallInput<N>, signal?: AbortSignal): Promise<Answer<N>> {
  const [method, path] = CALLS[name]
  const sent = input as Sent
  const body = sent.body === undefined ? null : JSON.stringify(sent.body)
  const response = await fetch(addressOf(path, sent), {
    method,
    credentials: 'same-origin',
    headers: { accept: 'application/json', ...(body === null ? {} : { 'content-type': 'application/json' }) },
    body,
    signal: signal ?? null,
  }).catch((cause: unknown) => {
    if (signal?.aborted === true) throw cause
    throw new ApiProblem(unreachable)
  })
  if (!response.ok) throw await problemOf(response)
  return (await response.json()) as Answer<N>
}

/**
 * The routes the pages call, and the role that each takes where not everybody who is signed in may. The types keep these
 * rows equal to the protocol's; importing ROUTES itself would bundle every schema into the page.
 */
const CALLS = {
  signup: ['POST', '/api/auth/signup'],
  login: ['POST', '/api/auth/login'],
  logout: ['POST', '/api/auth/logout'],
  forgotPassword: ['POST', '/api/auth/forgot-password'],
  resetPassword: ['POST', '/api/auth/reset-password'],
  verifyEmail: ['POST', '/api/auth/verify-email'],
  resendVerification: ['POST', '/api/auth/resend-verification'],
  listWaysIn: ['GET', '/api/auth/ways-in'],
  readInvitation: ['POST', '/api/auth/invitation'],
  acceptInvitation: ['POST', '/api/auth/accept-invitation'],
  me: ['GET', '/api/auth/me'],
  renameMyself: ['POST', '/api/auth/name'],
  changePassword: ['POST', '/api/auth/password'],
  listSignIns: ['GET', '/api/auth/sign-ins'],
  endSignIn: ['POST', '/api/auth/sign-ins/:sign_in_id/end'],
  listMembers: ['GET', '/api/dashboard/members', 'owner'],
  inviteMember: ['POST', '/api/dashboard/invitations', 'owner'],
  revokeInvitation: ['POST', '/api/dashboard/invitations/:invitation_id/revoke', 'owner'],
  changeMember: ['POST', '/api/dashboard/members/:user_id', 'owner'],
  removeMember: ['POST', '/api/dashboard/members/:user_id/remove', 'owner'],
  listKeys: ['GET', '/api/dashboard/keys', 'owner'],
  createKey: ['POST', '/api/dashboard/keys', 'owner'],
  revokeKey: ['POST', '/api/dashboard/keys/:key_id/revoke', 'owner'],
  listAudit: ['GET', '/api/dashboard/audit', 'owner'],
  loadLimits: ['GET', '/api/dashboard/limits'],
  listSharedLimits: ['GET', '/api/dashboard/shared-limits'],
  loadOverview: ['GET', '/api/dashboard/overview'],
  listAgents: ['GET', '/api/dashboard/agents'],
  listSessions: ['GET', '/api/dashboard/sessions'],
  listCalls: ['GET', '/api/dashboard/calls'],
  listCaptures: ['GET', '/api/dashboard/captures'],
  loadSessionDetail: ['GET', '/api/dashboard/sessions/:session_id'],
  loadTimeline: ['GET', '/api/dashboard/sessions/:session_id/timeline'],
  loadProof: ['GET', '/api/dashboard/sessions/:session_id/proof'],
  exportEventsByPerson: ['GET', '/api/dashboard/sessions/:session_id/events'],
  killSessionByPerson: ['POST', '/api/dashboard/sessions/:session_id/kill', 'approver'],
  addLabelByPerson: ['POST', '/api/dashboard/sessions/:session_id/labels', 'approver'],
  eraseContent: ['POST', '/api/dashboard/sessions/:session_id/erase', 'owner'],
  listWorkflows: ['GET', '/api/dashboard/workflows'],
  loadWorkflowDetail: ['GET', '/api/dashboard/workflows/:workflow_id'],
  killWorkflowByPerson: ['POST', '/api/dashboard/workflows/:workflow_id/kill', 'approver'],
  judgePlayground: ['POST', '/api/dashboard/playground'],
  listContracts: ['GET', '/api/dashboard/contracts'],
  listToolPins: ['GET', '/api/dashboard/tool-pins'],
  approveToolPin: ['POST', '/api/dashboard/tool-pins/approve', 'owner'],
  listPlans: ['GET', '/api/dashboard/plans'],
  draftPlan: ['POST', '/api/dashboard/plans', 'approver'],
  loadPlan: ['GET', '/api/dashboard/plans/:plan_id'],
  editPlan: ['POST', '/api/dashboard/plans/:plan_id/files', 'approver'],
  approvePlan: ['POST', '/api/dashboard/plans/:plan_id/approve', 'owner'],
  rejectPlan: ['POST', '/api/dashboard/plans/:plan_id/reject', 'owner'],
  listRuns: ['GET', '/api/dashboard/runs'],
  startRun: ['POST', '/api/dashboard/runs', 'approver'],
  loadRunDetail: ['GET', '/api/dashboard/runs/:run_id'],
  listQuestions: ['GET', '/api/dashboard/questions'],
  loadQuestion: ['GET', '/api/dashboard/questions/:question_id'],
  answerQuestion: ['POST', '/api/dashboard/questions/:question_id/answer', 'approver'],
  answerQuestions: ['POST', '/api/dashboard/questions/answers', 'approver'],
  askAgain: ['POST', '/api/dashboard/questions/:question_id/ask-again', 'owner'],
  draftAskingLess: ['POST', '/api/dashboard/plans/asking-less', 'approver'],
  questionStats: ['GET', '/api/dashboard/question-stats'],
  listWebhooks: ['GET', '/api/dashboard/webhooks', 'owner'],
  createWebhook: ['POST', '/api/dashboard/webhooks', 'owner'],
  changeWebhook: ['POST', '/api/dashboard/webhooks/:webhook_id', 'owner'],
  rollWebhookSecret: ['POST', '/api/dashboard/webhooks/:webhook_id/roll', 'owner'],
  testWebhook: ['POST', '/api/dashboard/webhooks/:webhook_id/test', 'owner'],
  listWebhookDeliveries: ['GET', '/api/dashboard/webhooks/:webhook_id/deliveries', 'owner'],
  removeWebhook: ['POST', '/api/dashboard/webhooks/:webhook_id/remove', 'owner'],
} as const satisfies { [N in RouteName]?: RowOf<Routes[N]> }

type RowOf<R extends Route> = R extends { role: 'approver' | 'owner' }
  ? readonly [R['method'], R['path'], R['role']]
  : readonly [R['method'], R['path']]

/** The least that a person must be to call the route. */
export const roleFor = (name: Callable): Role => CALLS[name][2] ?? 'viewer'

export type Callable = keyof typeof CALLS
export type Answer<N extends Callable> = ReplyOf<Routes[N]>
type Loose<T> = { [K in keyof T]?: T[K] | undefined }
type Given<K extends string, T> = keyof T extends never ? { [P in K]?: never } : { [P in K]: T }
type QueryOf<N extends Callable> = Loose<Input<Routes[N]>['query']>
export type CallInput<N extends Callable> = Given<'params', Input<Routes[N]>['params']> & {
  query?: QueryOf<N>
} & ('body' extends keyof Routes[N] ? { body: RequestBody<Routes[N]> } : { body?: never })

interface Sent {
  readonly params?: Readonly<Record<string, string>> | undefined
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

function addressOf(path: string, { params, query }: Sent): string {
  const filled = pathOf({ path }, params)
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== '') search.set(key, String(value))
  }
  return search.size === 0 ? filled : `${filled}?${search}`
}

export const unreachable: ProblemFacts = { status: 0, code: 'UNREACHABLE', title: 'the server cannot be reached' }

interface ProblemFacts {
  readonly status: number
  readonly code: ErrorCode | 'UNREACHABLE' | 'UNREADABLE'
  readonly title: string
  readonly detail?: string | undefined
  readonly retryAfterSeconds?: number | undefined
}

/** An error reply, with the text of the server. Status 0: there was no reply. */
export class ApiProblem extends Error {
  readonly status: number
  readonly code: ProblemFacts['code']
  readonly detail: string | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(facts: ProblemFacts) {
    super(facts.title)
    this.name = 'ApiProblem'
    this.status = facts.status
    this.code = facts.code
    this.detail = facts.detail
    this.retryAfterSeconds = facts.retryAfterSeconds
  }
}

async function problemOf(response: Response): Promise<ApiProblem> {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  const retryAfterSeconds = Number.isFinite(seconds) ? seconds : undefined
  const body = (await response.json().catch(() => null)) as Partial<Problem> | null
  return new ApiProblem({
    status: response.status,
    code: body?.code ?? 'UNREADABLE',
    title: body?.title ?? `the server answered ${response.status} with a body that could not be read`,
    detail: typeof body?.detail === 'string' ? body.detail : undefined,
    retryAfterSeconds,
  })
}
