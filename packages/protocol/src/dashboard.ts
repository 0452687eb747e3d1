import { z } from 'zod'
import { auditEntrySchema, createKeyBody, createKeyReply, doneReply, keyPath, listKeysReply } from './account.js'
import { pageOf, pageQuery } from './paging.js'
import type { Route } from './route.js'

const view = { method: 'GET', auth: 'cookie', throttle: 'dashboard' } as const
const change = { method: 'POST', auth: 'cookie', throttle: 'dashboard' } as const

export const limitsReply = z.strictObject({
  quota: z.enum(['free', 'team', 'scale']),
  buckets: z.array(z.strictObject({ bucket: z.string(), per_minute: z.int(), available: z.number() })),
  runs: z.strictObject({ used: z.int(), limit: z.int() }),
  keys: z.strictObject({ active: z.int(), limit: z.int() }),
})

/** What the dashboard reads and changes; cookies only. */
export const dashboardRoutes = {
  listKeys: {
    ...view,
    path: '/api/dashboard/keys',
    summary: 'API keys of the tenant, never the keys themselves',
    reply: listKeysReply,
  },
  createKey: {
    ...change,
    path: '/api/dashboard/keys',
    status: 201,
    summary: 'Create a key, shown once',
    body: createKeyBody,
    reply: createKeyReply,
  },
  revokeKey: {
    ...change,
    path: '/api/dashboard/keys/:key_id/revoke',
    summary: 'Revoke a key at once',
    params: keyPath,
    reply: doneReply,
  },
  listAudit: {
    ...view,
    path: '/api/dashboard/audit',
    summary: 'Who did what, when, from where',
    query: pageQuery,
    reply: pageOf(auditEntrySchema),
  },
  loadLimits: { ...view, path: '/api/dashboard/limits', summary: 'Quota, buckets and run budget', reply: limitsReply },
} as const satisfies Record<string, Route>
