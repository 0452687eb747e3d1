import type { RouteName } from '@countersign/protocol'
import type postgres from 'postgres'
import type { Handlers } from '../context.js'
import type { Sql } from '../store/database.js'
import { accountHandlers } from './account/index.js'
import { captureHandlers } from './captures/index.js'
import { dashboardHandlers } from './dashboard/index.js'
import { governanceHandlers } from './governance/index.js'
import { keyHandlers } from './keys/index.js'
import { runHandlers } from './runs/index.js'
import { sessionHandlers, sessionPreloads } from './sessions/index.js'
import { workflowHandlers } from './workflows/index.js'

/** The function behind each route. */
export const handlers = {
  ...accountHandlers,
  ...keyHandlers,
  ...captureHandlers,
  ...governanceHandlers,
  ...runHandlers,
  ...sessionHandlers,
  ...workflowHandlers,
  ...dashboardHandlers,
} satisfies Partial<Handlers>

/**
 * What a route reads together with the key, in the same statement: a scalar subselect that knows the tenant as
 * `key.tenant_id`. It runs before the path is checked, so a parameter that is no id must give null.
 */
export type Preload = (
  sql: Sql,
  params: Readonly<Record<string, string>>,
) => postgres.PendingQuery<postgres.Row[]> | null

export const preloads: Readonly<Partial<Record<RouteName, Preload>>> = { ...sessionPreloads }

/** Routes that have no function yet. They are not registered and answer 404; a route in neither list does not compile. */
export const NOT_BUILT = {} satisfies Record<Exclude<RouteName, keyof typeof handlers>, true>
