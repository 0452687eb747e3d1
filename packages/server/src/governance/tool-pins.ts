import { hashValue } from '@countersign/engine'
import { type Input, LIMITS, type Reply, type Routes, type ToolPin } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { isoTime } from '../base/iso-time.js'
import { audit } from '../context/audit.js'
import type { Context, UserContext } from '../context/context.js'
import { inFind, inRead, inStatement, inTransaction } from '../context/work.js'
import {
  approvePinnedChange,
  findPinnedHashes,
  listChangedPins,
  pinSeenTools,
  type ToolPinRow,
} from '../store/governance/tool-pins.js'

/** Pins new definitions, and says which tools differ from their pins. */
export async function pinTools(
  ctx: Context,
  { body: { agent, environment, server, tools } }: Input<Routes['pinTools']>,
): Promise<Reply<Routes['pinTools']>> {
  const { tenantId } = ctx.tenant
  const scope = { tenantId, agent, environment, server }
  // By name.
  const seen = new Map(
    tools.map(({ name, definition }) => [name, { name, definition, hash: hashValue(definition) }] as const),
  )
  const names = [...seen.keys()]
  const isPinned = (pinned: ReadonlyMap<string, string>) => (name: string) => pinned.get(name) === seen.get(name)?.hash
  const find = () => inFind(ctx, (sql) => findPinnedHashes(sql, scope, names))
  const before = await find()
  // The usual case writes nothing.
  if (names.every(isPinned(before))) return { changed: [] }
  const written = JSON.stringify([...seen.values()])
  const pins = { at: ctx.app.clock(), most: LIMITS.toolPinsPerServer }
  await inStatement(ctx, (sql) => pinSeenTools(sql, scope, { count: seen.size, written }, pins))
  const pinned = isPinned(await find())
  return { changed: names.filter((name) => !pinned(name)) }
}

export async function listToolPins(ctx: UserContext): Promise<Reply<Routes['listToolPins']>> {
  const rows = await inRead(ctx, (sql) => listChangedPins(sql, ctx.tenant.tenantId, LIMITS.shownToolPins))
  return { pins: rows.map(viewOf) }
}

/** A person approves a difference: what was reviewed, by its hash, is the definition from now on. */
export async function approveToolPin(ctx: UserContext, { body }: Input<Routes['approveToolPin']>): Promise<ToolPin> {
  const { tenantId, email } = ctx.signIn
  const { agent, environment, server, tool_name: toolName, hash } = body
  const approved = await inTransaction(ctx, async (tx) => {
    const approval = { toolName, hash, by: email, at: ctx.app.clock() }
    const row = await approvePinnedChange(tx, { tenantId, agent, environment, server }, approval)
    const subject = [agent, environment, server, toolName].filter((part) => part !== '').join('/')
    if (row !== null) await audit(tx, ctx, { action: 'tool_approved', subject: subject.slice(0, 256), detail: hash })
    return row
  })
  if (approved === null) throw new ApiError('NOT_FOUND')
  return viewOf(approved)
}

function viewOf(row: ToolPinRow): ToolPin {
  const { changedHash, changedDefinition, changedAt } = row
  const isChanged = changedHash !== null && changedDefinition !== null && changedAt !== null
  return {
    agent: row.agent,
    environment: row.environment,
    server: row.server,
    tool_name: row.toolName,
    hash: row.hash,
    definition: row.definition,
    pinned_at: isoTime(row.pinnedAt),
    approved_by: row.approvedBy,
    changed: isChanged ? { hash: changedHash, definition: changedDefinition, seen_at: isoTime(changedAt) } : null,
  }
}
