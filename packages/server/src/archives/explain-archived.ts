import { ApiError } from '../base/api-error.js'
import type { Context } from '../context/context.js'
import { inFind } from '../context/work.js'
import { type ArchivedLedger, findArchivedLedger } from '../store/archives/archived-ledgers.js'

/** The names in a request under which something may be archived. */
export interface AskedFor {
  readonly session?: string | undefined
  readonly workflow?: string | undefined
}

/**
 * What is not found may have been archived: then the reply says when, and where it is. Asked only after a 404, so that no
 * other request pays for it.
 */
export async function explainArchived(error: unknown, ctx: Context, asked: AskedFor): Promise<unknown> {
  if (!(error instanceof ApiError) || error.code !== 'NOT_FOUND') return error
  const archived = await findArchived(ctx, asked)
  return archived === null ? error : new ApiError('NOT_FOUND', { ...error.extras, ...inWords(archived) }, error.headers)
}

/** Why a session of this id cannot be created; null: it is not archived. */
export async function refuseArchivedId(ctx: Context, session: string): Promise<ApiError | null> {
  const archived = await findArchived(ctx, { session })
  return archived === null ? null : new ApiError('SESSION_EXISTS', inWords(archived))
}

async function findArchived(ctx: Context, { session, workflow }: AskedFor): Promise<ArchivedLedger | null> {
  const { tenantId } = ctx.tenant
  const find = (ledger: ArchivedLedger['ledger'], id: string) =>
    inFind(ctx, (sql) => findArchivedLedger(sql, { tenantId, ledger, id }))
  const found = session === undefined ? null : await find('session', session)
  return found === null && workflow !== undefined ? find('workflow', workflow) : found
}

const inWords = ({ ledger, archivedAt, file }: ArchivedLedger) => ({
  detail: `this ${ledger} was archived on ${archivedAt.toISOString().slice(0, 10)}: its ledger is in the file ${file}, which the operator has and countersign verify checks`,
  archived_at: archivedAt.toISOString(),
})
