import { z } from 'zod'
import { agentSchema, environmentSchema, hashSchema, timeSchema } from '../base/ids.js'
import { jsonSchema } from '../base/json.js'
import { LIMITS } from '../base/limits.js'
import type { Route } from '../http/route.js'

const toolName = z.string().min(1).max(LIMITS.toolNameLength)
const definition = z.record(z.string(), jsonSchema)

/** The server that a tool is on, as contracts name it; empty where they name its tools alone. */
const scope = { agent: agentSchema, environment: environmentSchema, server: z.string().max(64) }

/** How a tool was defined when it was first used, or when a person last approved it. */
export const toolPinSchema = z.strictObject({
  ...scope,
  tool_name: toolName,
  hash: hashSchema,
  definition,
  pinned_at: timeSchema,
  approved_by: z.string().nullable(),
  /** What its server says of it since; null where that is the same. */
  changed: z.strictObject({ hash: hashSchema, definition, seen_at: timeSchema }).nullable(),
})
export type ToolPin = z.infer<typeof toolPinSchema>

export const pinToolsBody = z.strictObject({
  ...scope,
  tools: z.array(z.strictObject({ name: toolName, definition })).max(LIMITS.toolsPerPreflight),
})

/** Definitions of tools of MCP servers, pinned per agent and environment. Keys pin and report; people approve. */
export const toolPinRoutes = {
  pinTools: {
    method: 'POST',
    auth: 'api_key',
    access: ['all'],
    about: 'body',
    throttle: 'write',
    path: '/api/v1/governance/tool-pins',
    summary: 'Pin definitions that are seen for the first time, and learn which others differ from what is pinned',
    body: pinToolsBody,
    /** The names of the tools whose definition is another than the pinned one, or for which there is no room. */
    reply: z.strictObject({ changed: z.array(z.string()) }),
  },
  listToolPins: {
    method: 'GET',
    auth: 'cookie',
    role: 'viewer',
    throttle: 'dashboard',
    path: '/api/dashboard/tool-pins',
    summary: 'Tools whose definition has changed since it was pinned, the newest first',
    reply: z.strictObject({ pins: z.array(toolPinSchema) }),
  },
  approveToolPin: {
    method: 'POST',
    auth: 'cookie',
    role: 'owner',
    throttle: 'dashboard',
    path: '/api/dashboard/tool-pins/approve',
    summary: 'Approve what the definition of a tool has become',
    /** Requires the hash that was reviewed, so that nothing else is approved. */
    body: z.strictObject({ ...scope, tool_name: toolName, hash: hashSchema }),
    reply: toolPinSchema,
  },
} as const satisfies Record<string, Route>
