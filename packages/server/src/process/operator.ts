import { randomBytes } from 'node:crypto'
import { LIMITS, type Quota } from '@countersign/protocol'
import { keyWords } from '../accounts/keys/key-words.js'
import { ArchivePlaceError, isOfDisk } from '../archives/archive-file.js'
import {
  type Archived,
  type ArchiveOptions,
  archiveSessions,
  nothingArchived,
  requireOld,
} from '../archives/archive-sessions.js'
import type { Config } from '../base/config.js'
import { makeApiKey, makeId } from '../base/crypto/secrets.js'
import { connect } from '../postgres/connect.js'
import { createDatabase } from '../postgres/database.js'
import { databaseTrouble } from '../postgres/database-error.js'
import { firstAnswer } from '../postgres/first-answer.js'
import type { Queryable, Sql, Tx } from '../postgres/sql.js'
import { divide, requireCitus } from '../schema/distribution.js'
import { codeVersion, databaseVersion, holdsNothing, migrate } from '../schema/migrate.js'
import {
  countActiveKeys,
  insertKey,
  type KeyRow,
  type KeyScope,
  listKeys,
  revokeKey,
} from '../store/accounts/api-keys.js'
import { deleteIssuer, type IssuerRow, insertIssuer, listIssuers, type NewIssuer } from '../store/accounts/issuers.js'
import { insertTenant, listTenants, lockTenant, setQuota, type TenantRow } from '../store/accounts/tenants.js'
import { insertAuditEntry, type NewAuditEntry } from '../store/audit.js'
import {
  dropSetAside,
  findSetAside,
  listSetAside,
  retrySetAside,
  type SetAside,
  type SetAsideKey,
} from '../store/set-aside.js'
import { backUp, type RestoreOptions, restoreBackup } from './backup.js'
import { withDatabase } from './configured-database.js'

/** What an operator with access to the database may do from the command line, whether or not the service runs. */

/** It cannot be done as asked. The message says what to do. */
export class OperatorError extends Error {
  override name = 'OperatorError'
}

/** The maker of a tenant here runs the service for it. */
const OPERATOR_QUOTA: Quota = 'team'

export interface CreatedTenant {
  tenantId: string
  quota: Quota
  /** Shown once and stored nowhere. */
  key: string
}

/** Makes a verified tenant with one key. It may come before the first start, in a database that holds nothing yet. */
export const createTenant = (name: string, given: Quota | null, config: Config): Promise<CreatedTenant> =>
  withDatabase(config, async (url) => {
    if (await transact(url, holdsNothing)) await migrate(url)
    return transactAtVersion(url, async (tx) => {
      const tenantId = makeId(randomBytes, 'tnt')
      const quota = given ?? OPERATOR_QUOTA
      await insertTenant(tx, { tenantId, name, quota, verified: true })
      return { tenantId, quota, key: (await storeKey(tx, tenantId, FIRST_KEY)).key }
    })
  })

export const tenantsOf = (config: Config): Promise<TenantRow[]> => inTransaction(config, listTenants)

export const changeQuota = (tenantId: string, quota: Quota, config: Config): Promise<void> =>
  inTransaction(config, async (tx) => {
    await holdTenant(tx, tenantId)
    await setQuota(tx, tenantId, quota)
    await audit(tx, { tenantId, action: 'quota_changed', subject: tenantId, detail: quota })
  })

export interface CreatedKey {
  keyId: string
  /** Shown once and stored nowhere. */
  key: string
}

export interface NewKey extends KeyScope {
  readonly name: string
  /** Its sessions act for no person. */
  readonly principal?: 'none' | null
  readonly expiresAt: Date | null
}

export const createKey = (tenantId: string, given: NewKey, config: Config): Promise<CreatedKey> =>
  inTransaction(config, async (tx) => {
    await holdTenant(tx, tenantId)
    if ((await countActiveKeys(tx, tenantId)) >= LIMITS.activeKeysPerTenant) {
      throw new OperatorError(`at most ${LIMITS.activeKeysPerTenant} keys can be active; revoke one first`)
    }
    const made = await storeKey(tx, tenantId, given)
    await audit(tx, { tenantId, action: 'key_created', subject: made.keyId, detail: keyWords(given.name, given) })
    return made
  })

export const keysOf = (tenantId: string, config: Config): Promise<KeyRow[]> =>
  inTransaction(config, async (tx) => {
    await holdTenant(tx, tenantId)
    return listKeys(tx, tenantId)
  })

/** The next request with the key is refused, on every instance. */
export const revokeKeyOf = (tenantId: string, keyId: string, config: Config): Promise<void> =>
  inTransaction(config, async (tx) => {
    await holdTenant(tx, tenantId)
    if (!(await revokeKey(tx, tenantId, keyId))) {
      throw new OperatorError(`the tenant has no active key ${keyId}: countersign key list ${tenantId} lists its keys`)
    }
    await audit(tx, { tenantId, action: 'key_revoked', subject: keyId })
  })

/** From the next create on, sessions of the tenant may be opened with tokens of the issuer. */
export const addIssuer = (issuer: NewIssuer, config: Config): Promise<void> =>
  inTransaction(config, async (tx) => {
    const { tenantId, issuer: name, jwksUri } = issuer
    const { protocol, hostname } = new URL(jwksUri)
    if (protocol !== 'https:' && !(config.allowLocalIssuers && LOCAL_HOSTS.has(hostname))) {
      throw new OperatorError(
        'the keys of an issuer are read by https; by http only from this machine, with COUNTERSIGN_ALLOW_LOCAL_ISSUERS=on',
      )
    }
    await holdTenant(tx, tenantId)
    if ((await listIssuers(tx, tenantId)).length >= LIMITS.issuersPerTenant) {
      throw new OperatorError(`at most ${LIMITS.issuersPerTenant} issuers can be listed; remove one first`)
    }
    if (!(await insertIssuer(tx, issuer))) {
      throw new OperatorError(`the tenant has the issuer ${name} already: to change it, remove it first`)
    }
    await audit(tx, { tenantId, action: 'issuer_added', subject: name, detail: jwksUri })
  })

const LOCAL_HOSTS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

export const issuersOf = (tenantId: string, config: Config): Promise<IssuerRow[]> =>
  inTransaction(config, async (tx) => {
    await holdTenant(tx, tenantId)
    return listIssuers(tx, tenantId)
  })

/** Sessions that its tokens have opened go on. */
export const removeIssuer = (tenantId: string, issuer: string, config: Config): Promise<void> =>
  inTransaction(config, async (tx) => {
    await holdTenant(tx, tenantId)
    if (!(await deleteIssuer(tx, tenantId, issuer))) {
      throw new OperatorError(
        `the tenant has no issuer ${issuer}: countersign issuer list ${tenantId} lists its issuers`,
      )
    }
    await audit(tx, { tenantId, action: 'issuer_removed', subject: issuer })
  })

/** Backs up what the service stores. Returns the rows written. */
export const backUpTo = (file: string, config: Config): Promise<number> =>
  withDatabase(config, (url) => backUp(url, file))

/** Fills the configured database, which must be empty, from a backup. Returns the rows read. */
export const restoreFrom = (file: string, config: Config, options: RestoreOptions = {}): Promise<number> =>
  withDatabase(config, (url) => restoreBackup(file, url, options), 'old or new')

/** Divides the database over the machines of Citus by tenant, as far as that is not done yet, and says each step. */
export const distribute = (config: Config, say: (step: string) => void): Promise<void> =>
  withDatabase(config, async (url) => {
    await transact(url, requireCitus)
    if (await transact(url, holdsNothing)) await migrate(url)
    await onConnectionTo(url, (sql) => divide(sql, say))
  })

export interface TenantArchived extends Archived {
  readonly tenantId: string
  /** Why the rest of what is old stays; null: nothing failed. */
  readonly failed: string | null
}

/**
 * Moves old sessions of one tenant, or of all, into files below a folder, and reports each tenant. One that fails is in
 * the way; where the folder or the database is the reason, the run ends there.
 */
export const archiveTo = (
  options: Omit<ArchiveOptions, 'tenantId'> & { readonly tenantId: string | null },
  config: Config,
  report: (archived: TenantArchived) => void,
): Promise<void> =>
  onConnection(config, async (sql) => {
    const known = (await listTenants(sql)).map(({ tenantId }) => tenantId)
    const { tenantId: only } = options
    if (only !== null && !known.includes(only)) throw noTenant(only)
    await requireOld(sql, options.before)
    for (const tenantId of only === null ? known : [only]) {
      const done = nothingArchived()
      try {
        await archiveSessions(sql, { ...options, tenantId }, done)
        report({ tenantId, ...done, failed: null })
      } catch (error) {
        report({ tenantId, ...done, failed: error instanceof Error ? error.message : String(error) })
        if (failsForAll(error)) throw error
      }
    }
  })

const failsForAll = (error: unknown): boolean =>
  error instanceof ArchivePlaceError || isOfDisk(error) || databaseTrouble(error) === 'unavailable'

/** So many are listed; an operator with more looks at the metrics first. */
const LISTED_AT_MOST = 1_000

/** Work that failed too often and is not tried again, the newest first. */
export const setAsideOf = (config: Config): Promise<SetAside[]> =>
  inTransaction(config, (tx) => listSetAside(tx, LISTED_AT_MOST))

export const findAside = (key: SetAsideKey, config: Config): Promise<SetAside> =>
  inTransaction(config, (tx) => holdAside(tx, key))

/** Puts work back into its queue. A service that runs takes it up within seconds. */
export const retryAside = (key: SetAsideKey, config: Config): Promise<void> =>
  inTransaction(config, async (tx) => {
    await holdAside(tx, key)
    await retrySetAside(tx, key)
    await audit(tx, { tenantId: key.tenantId, action: 'set_aside_retried', subject: key.id, detail: key.kind })
  })

/** Takes work off the list for good. */
export const dropAside = (key: SetAsideKey, config: Config): Promise<void> =>
  inTransaction(config, async (tx) => {
    await holdAside(tx, key)
    await dropSetAside(tx, key)
    await audit(tx, { tenantId: key.tenantId, action: 'set_aside_dropped', subject: key.id, detail: key.kind })
  })

async function holdAside(tx: Tx, key: SetAsideKey): Promise<SetAside> {
  const found = await findSetAside(tx, key)
  if (found !== null) return found
  throw new OperatorError(
    `no ${key.kind} ${key.id} of tenant ${key.tenantId} is set aside: countersign set-aside list shows what is`,
  )
}

/** One transaction on a database of this version, whether or not the service runs. */
export const inTransaction = <T>(config: Config, work: (tx: Tx) => Promise<T>): Promise<T> =>
  withDatabase(config, (url) => transactAtVersion(url, work))

/** For work of many transactions, each of which takes its time. */
const onConnection = <T>(config: Config, work: (sql: Sql) => Promise<T>): Promise<T> =>
  withDatabase(config, (url) => onConnectionTo(url, work))

async function onConnectionTo<T>(url: string, work: (sql: Sql) => Promise<T>): Promise<T> {
  const sql = connect({ url, name: 'operator', statementTimeoutMs: 0 }, { max: 1 })
  try {
    await firstAnswer(sql)
    await requireVersion(sql)
    return await work(sql)
  } finally {
    await sql.end({ timeout: 5 })
  }
}

const transactAtVersion = <T>(url: string, work: (tx: Tx) => Promise<T>): Promise<T> =>
  transact(url, async (tx) => {
    await requireVersion(tx)
    return work(tx)
  })

/** Migrates nothing: a service of another version may be running on the database. */
async function requireVersion(sql: Queryable): Promise<void> {
  const [found, known] = [(await holdsNothing(sql)) ? 0 : await databaseVersion(sql), await codeVersion()]
  if (found === known) return
  throw new OperatorError(
    `the database has version ${found}, and this command is for version ${known}: ` +
      'use the command of the version that runs on it, or start this version once to upgrade the database',
  )
}

async function transact<T>(url: string, work: (tx: Tx) => Promise<T>): Promise<T> {
  const database = createDatabase({ url, poolSize: 4 })
  try {
    return await database.transaction('operator', work)
  } finally {
    await database.close()
  }
}

export async function holdTenant(tx: Tx, tenantId: string): Promise<void> {
  if (!(await lockTenant(tx, tenantId))) throw noTenant(tenantId)
}

const noTenant = (tenantId: string) =>
  new OperatorError(`there is no tenant ${tenantId}: countersign tenant list shows all tenants`)

const FIRST_KEY: NewKey = { name: 'first key', access: 'all', agent: null, environment: null, expiresAt: null }

async function storeKey(
  tx: Tx,
  tenantId: string,
  { name, principal = null, expiresAt, ...scope }: NewKey,
): Promise<CreatedKey> {
  const key = makeApiKey(randomBytes)
  const keyId = makeId(randomBytes, 'key')
  const made = { prefix: key.prefix, keyHash: key.hash, scope, principal, expiresAt }
  await insertKey(tx, { tenantId, keyId, userId: null, name, ...made })
  return { keyId, key: key.raw }
}

export const audit = (tx: Tx, entry: Omit<NewAuditEntry, 'at' | 'actor'>): Promise<void> =>
  insertAuditEntry(tx, { ...entry, actor: 'operator' })
