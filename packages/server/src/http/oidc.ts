import type { FastifyInstance } from 'fastify'
import { finishOidc, startOidc } from '../accounts/oidc.js'
import { isServedAs } from './wire.js'

/** Where a browser goes to the company's provider, and comes back: redirects, not operations. */
export function registerOidc(app: FastifyInstance): void {
  app.get('/api/auth/oidc/:id/start', async (request, reply) => {
    if (!isServedAs('/api/auth/oidc/:id/start', request)) return reply.callNotFound()
    request.routeName = 'startOidc'
    const { id = '' } = request.params as { id?: string }
    const query = new URLSearchParams(request.open.request.http.query)
    const asked = { id, next: query.get('next'), isLinking: query.has('link') }
    return reply.redirect(await startOidc(request.open, asked), 303)
  })
  app.get('/api/auth/oidc/callback', async (request, reply) => {
    if (!isServedAs('/api/auth/oidc/callback', request)) return reply.callNotFound()
    request.routeName = 'finishOidc'
    return reply.redirect(await finishOidc(request.open, request.open.request.http.query), 303)
  })
}
