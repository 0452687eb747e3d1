import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, sep } from 'node:path'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { HttpRequest } from '../context/http-request.js'

/** Nothing inline, nothing from elsewhere, never in a frame. */
const HEADERS = {
  'content-security-policy':
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
  'cross-origin-opener-policy': 'same-origin',
  vary: 'accept-encoding',
} as const

/** Serves the built dashboard. What comes back sends index.html, which shows by itself the page that an address names. */
export function openDashboard(app: FastifyInstance, configured: string | null): (reply: FastifyReply) => FastifyReply {
  const root = configured ?? builtDashboard()
  if (root === null) return (reply) => reply.code(404).type('text/plain; charset=utf-8').send(NOT_BUILT)
  app.register(fastifyStatic, {
    root,
    // A route for each file that is there now: what is not in the folder cannot be asked for, whatever the path says.
    wildcard: false,
    preCompressed: true,
    cacheControl: false,
    setHeaders: (reply, path) => {
      for (const [name, value] of Object.entries(HEADERS)) reply.setHeader(name, value)
      // Names under assets hold a hash of the content, so they never change their meaning.
      const isAsset = path.includes(`${sep}assets${sep}`)
      reply.setHeader('cache-control', isAsset ? 'public, max-age=31536000, immutable' : 'no-cache')
    },
  })
  return (reply) => reply.sendFile('index.html')
}

/** Whether an address that nothing else serves may be one of a page. */
export const isPage = ({ method, path }: Pick<HttpRequest, 'method' | 'path'>): boolean =>
  (method === 'GET' || method === 'HEAD') &&
  path !== null &&
  path !== '/api' &&
  !path.startsWith('/api/') &&
  !path.startsWith('/assets/')

/** The dashboard that is installed beside the server; null where there is none or it is not built. */
function builtDashboard(): string | null {
  try {
    const manifest = createRequire(import.meta.url).resolve('@countersign/dashboard/package.json')
    const folder = join(dirname(manifest), 'dist')
    readdirSync(folder)
    return folder
  } catch {
    return null
  }
}

const NOT_BUILT = 'The dashboard is not built here: run npm run build, or set the dashboard folder. The API works.\n'
