import type { QueryClient } from '@tanstack/react-query'
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { ApiProblem } from './api/api.js'
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
    validateSearch: (search: Record<string, unknown>): { next?: string } =>
      typeof search.next === 'string' ? { next: search.next } : {},
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
      component: lazyRouteComponent(() => import('./pages/overview.js'), 'OverviewPage'),
    }),
    createRoute({
      ...inside,
      path: '/sessions',
      component: lazyRouteComponent(() => import('./pages/sessions.js'), 'SessionsPage'),
    }),
    createRoute({
      ...inside,
      path: '/calls',
      component: lazyRouteComponent(() => import('./pages/calls.js'), 'CallsPage'),
    }),
    createRoute({
      ...inside,
      path: '/captures',
      component: lazyRouteComponent(() => import('./pages/captures.js'), 'CapturesPage'),
    }),
    createRoute({
      ...inside,
      path: '/sessions/$sessionId',
      component: lazyRouteComponent(() => import('./pages/session.js'), 'SessionPage'),
    }),
    createRoute({
      ...inside,
      path: '/agents',
      component: lazyRouteComponent(() => import('./pages/agents.js'), 'AgentsPage'),
    }),
    createRoute({
      ...inside,
      path: '/workflows',
      component: lazyRouteComponent(() => import('./pages/workflows.js'), 'WorkflowsPage'),
    }),
    createRoute({
      ...inside,
      path: '/workflows/$workflowId',
      component: lazyRouteComponent(() => import('./pages/workflow.js'), 'WorkflowPage'),
    }),
    createRoute({
      ...inside,
      path: '/contracts',
      component: lazyRouteComponent(() => import('./pages/contracts.js'), 'ContractsPage'),
    }),
    createRoute({
      ...inside,
      path: '/plans',
      component: lazyRouteComponent(() => import('./pages/plans.js'), 'PlansPage'),
    }),
    createRoute({
      ...inside,
      path: '/plans/$planId',
      component: lazyRouteComponent(() => import('./pages/plan.js'), 'PlanPage'),
    }),
    createRoute({
      ...inside,
      path: '/playground',
      component: lazyRouteComponent(() => import('./pages/playground.js'), 'PlaygroundPage'),
    }),
    createRoute({
      ...inside,
      path: '/keys',
      component: lazyRouteComponent(() => import('./pages/keys.js'), 'KeysPage'),
    }),
    createRoute({
      ...inside,
      path: '/audit',
      component: lazyRouteComponent(() => import('./pages/audit.js'), 'AuditPage'),
    }),
    createRoute({
      ...inside,
      path: '/limits',
      component: lazyRouteComponent(() => import('./pages/limits.js'), 'LimitsPage'),
    }),
  ]
  const doors = [
    createRoute({
      ...open,
      path: '/sign-in',
      component: lazyRouteComponent(() => import('./pages/account/sign-in.js'), 'SignInPage'),
    }),
    createRoute({
      ...open,
      path: '/sign-up',
      component: lazyRouteComponent(() => import('./pages/account/sign-up.js'), 'SignUpPage'),
    }),
    createRoute({
      ...open,
      path: '/verify-email',
      component: lazyRouteComponent(() => import('./pages/account/verify-email.js'), 'VerifyEmailPage'),
    }),
    createRoute({
      ...open,
      path: '/forgot-password',
      component: lazyRouteComponent(() => import('./pages/account/forgot-password.js'), 'ForgotPasswordPage'),
    }),
    createRoute({
      ...open,
      path: '/reset-password',
      component: lazyRouteComponent(() => import('./pages/account/reset-password.js'), 'ResetPasswordPage'),
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
