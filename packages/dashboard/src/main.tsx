import { MutationCache, QueryCache, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { ApiProblem } from './api/api.js'
import { forgetPerson, newQueryClient } from './api/use-api.js'
import { newRouter } from './router.js'
import './styles/tokens.css'
import './styles/base.css'
import './styles/controls.css'
import './styles/shell.css'
import './styles/panels.css'
import './styles/tables.css'
import './styles/states.css'
import './styles/narrow-screens.css'
import './styles/pages.css'
import './styles/people.css'
import './styles/workflow.css'

/**
 * A sign-in that expired while a page was open: sign in again, then return to the same page. A role that was changed
 * meanwhile: every page learns it now.
 */
function onError(error: Error): void {
  const inside = router.state.matches.some((match) => match.routeId === '/signed-in')
  if (!inside || !(error instanceof ApiProblem)) return
  if (error.code === 'ROLE_NEEDED') return void queries.invalidateQueries({ queryKey: ['me'] })
  if (error.status !== 401) return
  const next = router.state.location.href
  forgetPerson(queries)
  void router.navigate({ to: '/sign-in', search: { next } })
}

const queries = newQueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
})
const router = newRouter(queries)

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}

const root = document.getElementById('root')
if (root === null) throw new Error('index.html has no element with the id root')
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
)
