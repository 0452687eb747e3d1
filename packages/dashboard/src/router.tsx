import type { QueryClient } from '@tanstack/react-query'
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { ApiProblem } from './api/api.js'
import { pageCode } from './api/page-code.js'
import { reading } from './api/use-api.js'
import { Crash, CrashedPage } from './components/layout/crash.js'
import { Frame } from './components/layout/frame.js'
import { Shell } from './components/layout/shell.js'
import { Loading } from './components/layout/states.js'
import { NotFoundPage } from './pages/not-found.js'

/** Every page of the dashboard; each is loaded when it is first visited. */
export function newRouter(queries: QueryClient) {
  const root = createRootRoute({ component: Frame, notFoundComponent: NotFoundPage, errorComponent: Crash })
  const open = {
    getParentRoute: () => root,
    validateSearch: (search: Record<string, unknown>): { next?: string; problem?: string } => ({
      ...(typeof search.next === 'string' ? { next: search.next } : {}),
      ...(typeof search.problem === 'string' ? { problem: search.problem } : {}),
    }),
  }
  const signedIn = createRoute({
    getParentRoute: () => root,
    id: 'signed-in',
    component: Shell,
    beforeLoad: async ({ location }) => {
      const me = { ...reading('me', {}), staleTime: 60_000 }
      // Who is known to be signed in goes on at once: a sign-in that ended is noticed by the next answer.
      if (queries.getQueryData(me.queryKey) !== undefined) return void queries.prefetchQuery(me)
      await queries.ensureQueryData(me).catch((problem: unknown) => {
        if (!(problem instanceof ApiProblem) || problem.status !== 401) throw problem
        throw redirect({ to: '/sign-in', search: location.href === '/' ? {} : { next: location.href } })
      })
    },
  })
  const inside = { getParentRoute: () => signedIn, validateSearch: textSearch }

  const pages = [
    createRoute({
      ...inside,
      path: '/',
      component: lazyRouteComponent(() => pageCode(() => import('./pages/overview.js')), 'OverviewPage'),
    }),
    createRoute({
      ...inside,
      path: '/sessions',
      component: lazyRouteComponent(() => pageCode(() => import('./pages/sessions.js')), 'SessionsPage'),
    }),
    createRoute({
      ...inside,
      path: '/calls',
      component: lazyRouteComponent(() => pageCode(() => import('./pages/calls.js')), 'CallsPage'),
    }),
    createRoute({
      ...inside,
      path: '/questions',
      component: lazyRouteComponent(() => pageCode(() => import('./pages/questions/inbox.js')), 'QuestionsPage'),
    }),
    createRoute({
      ...inside,
      path: '/questions/$questionId',
      component: lazyRouteComponent(() => pageCode(() => import('./pages/questions/question.js')), 'QuestionPage'),
    }),
    createRoute({
      ...inside,
      path: '/questions/batch',
      component: lazyRouteComponent(() => pageCode(() => import('./pages/questions/batch.js')), 'BatchPage'),
    }),
    createRoute({
      ...inside,
      path: '/questions/statistics',
      component: lazyRouteComponent(() => pageCode(() => import('./pages/questions/statistics.js')), 'StatisticsPage'),
    }),
    createRoute({
      ...inside,
      path: '/captures',
      component: lazyRouteComponent(() => pageCode(() => import('./pages/captures.js')), 'CapturesPage'),
    }),
    createRoute({
      ...inside,
      path: '/sessions/$sessionId',
      component: lazyRouteComponent(() => pageCode(() => import('./pages/session.js')), 'SessionPage'),
    }),
    createRoute({
      ...inside,
      path: '/agents',
      component: lazyRouteComponent(() => pageCode(() => import('./pages/agents.js')), 'AgentsPage'),
    }),
    createRoute({
      ...inside,
      path: '/workflows',
      component: lazyRouteComponent(() => pageCode(() => import('./pages/workflows.js')), 'WorkflowsPage'),
    }),
    createRoute({
      ...inside,
      path: '/workflows/$workflowId',
      component: lazyRouteComponent(() => pageCode(() => import('./pages/workflow.js')), 'WorkflowPage'),
    }),
    createRoute({
      ...inside,
      path: '/contracts',
      component: lazyRouteComponent(() => pageCode(() => import('./pages/contracts.js')), 'ContractsPage'),
    }),
    createRoute({
      ...inside,
      path: '/plans',
      component: lazyRouteComponent(() => pageCode(() => import('./pages/plans.js')), 'PlansPage'),
    }),
    createRoute({
      ...inside,
      path: '/plans/$planId',
      component: lazyRouteComponent(() => pageCode(() => import('./pages/plan.js')), 'PlanPage'),
    }),
    createRoute({
      ...inside,
      path: '/playground',
      component: lazyRouteComponent(() => pageCode(() => import('./pages/playground.js')), 'PlaygroundPage'),
    }),
    createRoute({
      ...inside,
      path: '/members',
      component: lazyRouteComponent(() => pageCode(() => import('./pages/members.js')), 'MembersPage'),
    }),
    createRoute({
      ...inside,
      path: '/account',
      component: lazyRouteComponent(() => pageCode(() => import('./pages/account.js')), 'AccountPage'),
    }),
    createRoute({
      ...inside,
      path: '/keys',
      component: lazyRouteComponent(() => pageCode(() => import('./pages/keys.js')), 'KeysPage'),
    }),
    createRoute({
      ...inside,
      path: '/audit',
      component: lazyRouteComponent(() => pageCode(() => import('./pages/audit.js')), 'AuditPage'),
    }),
    createRoute({
      ...inside,
      path: '/webhooks',
      component: lazyRouteComponent(() => pageCode(() => import('./pages/webhooks.js')), 'WebhooksPage'),
    }),
    createRoute({
      ...inside,
      path: '/limits',
      component: lazyRouteComponent(() => pageCode(() => import('./pages/limits.js')), 'LimitsPage'),
    }),
  ]
  const doors = [
    createRoute({
      ...open,
      path: '/sign-in',
      component: lazyRouteComponent(() => pageCode(() => import('./pages/account/sign-in.js')), 'SignInPage'),
    }),
    createRoute({
      ...open,
      path: '/sign-up',
      component: lazyRouteComponent(() => pageCode(() => import('./pages/account/sign-up.js')), 'SignUpPage'),
    }),
    createRoute({
      ...open,
      path: '/join',
      component: lazyRouteComponent(() => pageCode(() => import('./pages/account/join.js')), 'JoinPage'),
    }),
    createRoute({
      ...open,
      path: '/verify-email',
      component: lazyRouteComponent(() => pageCode(() => import('./pages/account/verify-email.js')), 'VerifyEmailPage'),
    }),
    createRoute({
      ...open,
      path: '/forgot-password',
      component: lazyRouteComponent(
        () => pageCode(() => import('./pages/account/forgot-password.js')),
        'ForgotPasswordPage',
      ),
    }),
    createRoute({
      ...open,
      path: '/reset-password',
      component: lazyRouteComponent(
        () => pageCode(() => import('./pages/account/reset-password.js')),
        'ResetPasswordPage',
      ),
    }),
  ]
  return createRouter({
    routeTree: root.addChildren([signedIn.addChildren(pages), ...doors]),
    defaultPreload: 'intent',
    defaultErrorComponent: CrashedPage,
    defaultPendingComponent: () => <Loading rows={6} />,
    parseSearch: (search) => Object.fromEntries(new URLSearchParams(search)),
    stringifySearch,
  })
}

/** Filters are plain text in the URL, so that a view can be shared. */
const textSearch = (search: Record<string, unknown>): Record<string, string> =>
  Object.fromEntries(Object.entries(search).filter((entry): entry is [string, string] => typeof entry[1] === 'string'))

function stringifySearch(search: Record<string, unknown>): string {
  const entries = Object.entries(search).filter(([, value]) => value !== undefined && value !== '')
  return entries.length === 0 ? '' : `?${new URLSearchParams(entries.map(([key, value]) => [key, String(value)]))}`
}
