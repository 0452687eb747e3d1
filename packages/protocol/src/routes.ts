import { z } from 'zod'
import { idSchema } from './base/ids.js'
import { planLookupQuery, planLookupReply } from './contract/plan.js'
import * as account from './dashboard/account.js'
import { dashboardRoutes } from './dashboard/dashboard.js'
import { sessionRowSchema, sessionsQuery } from './dashboard/dashboard-sessions.js'
import { memberRoutes } from './dashboard/members.js'
import { questionRoutes } from './dashboard/questions.js'
import { webhookRoutes } from './dashboard/webhooks.js'
import { governanceRoutes } from './governance/governance.js'
import * as run from './governance/run.js'
import { toolPinRoutes } from './governance/tool-pins.js'
import { pageOf } from './http/paging.js'
import type { Route } from './http/route.js'
import * as capture from './session/capture.js'
import { exportEventsQuery, exportEventsReply } from './session/ledger.js'
import * as question from './session/question.js'
import * as session from './session/session.js'
import { sealsQuery, sealsReply } from './session/signed-ledger.js'
import * as turn from './session/turn.js'
import * as workflow from './session/workflow.js'
import { exportWorkflowEventsReply } from './session/workflow-ledger.js'

const sessionPath = z.strictObject({ session_id: idSchema })
const runPath = z.strictObject({ run_id: idSchema })

const SESSION = '/api/v1/replay/sessions/:session_id'
const WORKFLOW = '/api/v1/replay/workflows/:workflow_id'
const govern = { method: 'POST', auth: 'api_key', access: ['all'], about: 'session' } as const
const write = { ...govern, throttle: 'write' } as const
const read = { method: 'GET', auth: 'api_key', throttle: 'read', access: ['all', 'read'], about: 'session' } as const
const proposal = { ...govern, throttle: 'proposal' } as const
const evidence = { ...govern, throttle: 'evidence' } as const
const stop = { ...govern, throttle: 'stop' } as const
/** One's own account. */
const own = { method: 'POST', auth: 'cookie', role: 'viewer', throttle: 'dashboard' } as const
const open = { method: 'POST', auth: 'none', throttle: 'none' } as const

const runtimeRoutes = {
  createSession: {
    ...write,
    about: 'body',
    path: '/api/v1/replay/sessions',
    status: 201,
    summary: 'Create an authoritative session, or a root or child session of a workflow',
    body: session.createSessionBody,
    reply: session.createSessionReply,
  },
  findSession: {
    ...write,
    about: 'body',
    path: '/api/v1/replay/sessions/find',
    summary: 'Find the session of a conversation by the ids of its calls, within one agent and environment',
    body: session.findSessionBody,
    reply: session.findSessionReply,
  },
  listSessionsByKey: {
    ...read,
    about: 'query',
    path: '/api/v1/replay/sessions',
    summary: 'Sessions by their start, filtered',
    query: sessionsQuery,
    reply: pageOf(sessionRowSchema),
  },
  stopAgent: {
    ...stop,
    about: 'body',
    path: '/api/v1/replay/agents/stop',
    summary: 'Kill the sessions of an agent permanently, a batch for each request',
    body: session.stopAgentBody,
    lenientBody: true,
    reply: session.stopAgentReply,
  },
  loadSession: {
    ...read,
    path: SESSION,
    summary: 'Load the runtime view of a session and, on request, its pending work',
    params: sessionPath,
    query: session.loadSessionQuery,
    reply: session.loadSessionReply,
  },
  preflight: {
    ...write,
    path: `${SESSION}/preflight`,
    summary:
      'Prepare a request bound to the current state; narrows the tools; with tools, replaces the request prepared before',
    params: sessionPath,
    body: turn.preflightBody,
    reply: turn.preflightReply,
  },
  propose: {
    ...proposal,
    path: `${SESSION}/proposals`,
    summary: 'Submit the model response; decides and registers allowed calls',
    params: sessionPath,
    body: turn.proposalBody,
    reply: turn.proposalReply,
  },
  submitReceipts: {
    ...evidence,
    path: `${SESSION}/receipts`,
    summary: 'Submit execution evidence for pending calls; advances state when the commit requirement is met',
    params: sessionPath,
    body: turn.receiptsBody,
    reply: turn.receiptsReply,
  },
  claimCall: {
    ...evidence,
    path: `${SESSION}/claims`,
    summary: 'Take an allowed call to run it: of several processes that hold the session, the first',
    params: sessionPath,
    body: session.claimBody,
    reply: session.claimReply,
  },
  addLabel: {
    ...stop,
    path: `${SESSION}/labels`,
    summary: 'Append an immutable label',
    params: sessionPath,
    body: session.addLabelBody,
    reply: session.addLabelReply,
  },
  setToolFilter: {
    ...write,
    path: `${SESSION}/tool-filter`,
    summary: 'Set or clear the manual tool filter',
    params: sessionPath,
    body: session.toolFilterBody,
    reply: session.toolFilterReply,
  },
  reportBypass: {
    ...stop,
    path: `${SESSION}/report-bypass`,
    summary: 'Report that the wrapped client was bypassed; compromises the session',
    params: sessionPath,
    body: session.reportBypassBody,
    lenientBody: true,
    reply: session.stopReply,
  },
  killSession: {
    ...stop,
    path: `${SESSION}/kill`,
    summary: 'Kill the session permanently',
    params: sessionPath,
    body: session.killBody,
    lenientBody: true,
    reply: session.stopReply,
  },
  endSession: {
    ...evidence,
    path: `${SESSION}/end`,
    summary: 'End the session: its holder gives it back, and it takes no more turns unless it is recovered',
    params: sessionPath,
    body: session.endBody,
    reply: session.endReply,
  },
  recoverSession: {
    ...write,
    path: `${SESSION}/recover`,
    summary: 'Take over a recoverable session under a new fence',
    params: sessionPath,
    body: session.recoverBody,
    reply: session.recoverReply,
  },
  exportEvents: {
    ...read,
    path: `${SESSION}/events`,
    summary: 'Export the ledger of a session, page by page',
    params: sessionPath,
    query: exportEventsQuery,
    reply: exportEventsReply,
  },
  listSessionQuestions: {
    ...read,
    path: `${SESSION}/questions`,
    summary: 'Questions to people about calls of a session; with wait, as soon as one has changed',
    params: sessionPath,
    query: question.sessionQuestionsQuery,
    reply: question.sessionQuestionsReply,
  },
  withdrawQuestion: {
    ...evidence,
    path: `${SESSION}/questions/:question_id/withdraw`,
    summary: 'Withdraw a question: the call is not wanted any more',
    params: z.strictObject({ session_id: idSchema, question_id: idSchema }),
    body: question.withdrawBody,
    reply: question.sessionQuestionSchema,
  },
  listSeals: {
    ...read,
    about: 'tenant',
    path: '/api/v1/ledger/seals',
    summary: 'List the seals over signed ledger heads, oldest first',
    query: sealsQuery,
    reply: sealsReply,
  },
} as const satisfies Record<string, Route>

const workflowRoutes = {
  loadWorkflow: {
    ...read,
    about: 'workflow',
    path: WORKFLOW,
    workflows: true,
    summary: 'Load the current state of a workflow',
    params: workflow.workflowPath,
    reply: workflow.workflowViewSchema,
  },
  exportWorkflowEvents: {
    ...read,
    about: 'workflow',
    path: `${WORKFLOW}/events`,
    workflows: true,
    summary: 'Read the ledger of a workflow',
    params: workflow.workflowPath,
    query: exportEventsQuery,
    reply: exportWorkflowEventsReply,
  },
  offerHandoff: {
    ...write,
    path: `${SESSION}/handoffs`,
    workflows: true,
    summary: 'Offer a handoff to another role',
    params: sessionPath,
    body: workflow.offerHandoffBody,
    reply: workflow.handoffReply,
  },
  completeHandoff: {
    ...write,
    about: 'workflow',
    path: `${WORKFLOW}/handoffs/:handoff_id/complete`,
    workflows: true,
    summary: 'Mark a handoff complete',
    params: workflow.handoffPath,
    body: workflow.settleHandoffBody,
    reply: workflow.handoffReply,
  },
  reclaimHandoff: {
    ...write,
    about: 'workflow',
    path: `${WORKFLOW}/handoffs/:handoff_id/reclaim`,
    workflows: true,
    summary: 'Reclaim a handoff that was not accepted or whose holder was lost',
    params: workflow.handoffPath,
    body: workflow.settleHandoffBody,
    reply: workflow.handoffReply,
  },
  killWorkflow: {
    ...stop,
    about: 'workflow',
    path: `${WORKFLOW}/kill`,
    workflows: true,
    summary: 'Kill a workflow and every session in it',
    params: workflow.workflowPath,
    body: session.killBody,
    lenientBody: true,
    reply: workflow.killWorkflowReply,
  },
} as const satisfies Record<string, Route>

const captureRoutes = {
  lookupPlan: {
    ...read,
    access: ['all', 'read', 'observe'],
    about: 'query',
    path: '/api/v1/governance/plan',
    summary: 'Look up the approved plan of an agent and environment',
    query: planLookupQuery,
    reply: planLookupReply,
  },
  ingestCaptures: {
    ...govern,
    throttle: 'capture',
    access: ['all', 'observe'],
    about: 'agents',
    path: '/api/v1/captures',
    summary: 'Ingest a batch of captures',
    body: capture.capturesBody,
    reply: capture.capturesReply,
    anyData: true,
  },
  createRun: {
    ...write,
    about: 'agents',
    path: '/api/v1/runs',
    status: 201,
    summary: 'Backtest a plan against captured sessions or fixtures',
    body: run.createRunBody,
    reply: run.createRunReply,
  },
  loadRun: {
    ...read,
    about: 'run',
    path: '/api/v1/runs/:run_id',
    summary: 'Load a run',
    params: runPath,
    reply: run.createRunReply,
  },
} as const satisfies Record<string, Route>

const accountRoutes = {
  signup: {
    ...open,
    path: '/api/auth/signup',
    status: 201,
    summary: 'Create an account, its tenant and its first key; sends a verification email',
    body: account.signupBody,
    reply: account.signupReply,
  },
  login: {
    ...open,
    path: '/api/auth/login',
    summary: 'Sign in to the dashboard',
    body: account.loginBody,
    reply: account.loginReply,
  },
  logout: {
    ...open,
    path: '/api/auth/logout',
    summary: 'Sign out and revoke the refresh token',
    reply: account.doneReply,
  },
  forgotPassword: {
    ...open,
    path: '/api/auth/forgot-password',
    summary: 'Request a password reset; always responds with 200',
    body: account.forgotPasswordBody,
    lenientBody: true,
    reply: account.mailAskedReply,
  },
  resetPassword: {
    ...open,
    path: '/api/auth/reset-password',
    summary: 'Set a new password with a reset token',
    body: account.resetPasswordBody,
    reply: account.doneReply,
  },
  verifyEmail: {
    ...open,
    path: '/api/auth/verify-email',
    summary: 'Verify an email address with a token',
    body: account.verifyEmailBody,
    reply: account.doneReply,
  },
  resendVerification: {
    ...open,
    path: '/api/auth/resend-verification',
    summary: 'Send the verification email again',
    body: account.resendVerificationBody,
    lenientBody: true,
    reply: account.mailAskedReply,
  },
  me: {
    ...own,
    method: 'GET',
    path: '/api/auth/me',
    summary: 'The signed-in user',
    reply: account.meReply,
  },
  renameMyself: {
    ...own,
    path: '/api/auth/name',
    summary: "Change one's own name",
    body: account.renameMyselfBody,
    reply: account.doneReply,
  },
  changePassword: {
    ...own,
    path: '/api/auth/password',
    summary: "Change one's own password; ends every other sign-in",
    body: account.changePasswordBody,
    reply: account.doneReply,
  },
  listSignIns: {
    ...own,
    method: 'GET',
    path: '/api/auth/sign-ins',
    summary: "One's own sign-ins, newest first",
    reply: account.listSignInsReply,
  },
  endSignIn: {
    ...own,
    path: '/api/auth/sign-ins/:sign_in_id/end',
    summary: "End one of one's own sign-ins at once",
    params: account.signInPath,
    reply: account.doneReply,
  },
  listWaysIn: {
    method: 'GET',
    auth: 'none',
    throttle: 'none',
    path: '/api/auth/ways-in',
    summary: 'How one can sign in: password, providers, and whether accounts can be created',
    reply: account.waysInReply,
  },
} as const satisfies Record<string, Route>

/** Every endpoint of the service. */
export const ROUTES = {
  ...runtimeRoutes,
  ...workflowRoutes,
  ...captureRoutes,
  ...governanceRoutes,
  ...toolPinRoutes,
  ...accountRoutes,
  ...memberRoutes,
  ...questionRoutes,
  ...webhookRoutes,
  ...dashboardRoutes,
} as const satisfies Record<string, Route>
export type Routes = typeof ROUTES
export type RouteName = keyof Routes
