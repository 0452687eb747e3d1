import { randomBytes } from 'node:crypto'
import { chmod, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { LIMITS } from '@countersign/protocol'
import { makeApiKey, makeId, sha256 } from '../base/crypto/secrets.js'
import { makeFolder } from '../base/make-folder.js'
import type { Services } from '../context/context.js'
import { findCredentials, insertAccount, markVerified, updatePassword } from '../store/accounts/accounts.js'
import { countActiveKeys, hasActiveKey, insertKey, revokeActiveKeys } from '../store/accounts/api-keys.js'
import { revokeRefreshTokensOf } from '../store/accounts/refresh-tokens.js'
import { lockTenant } from '../store/accounts/tenants.js'

/** A sign-in and a key to try the service with. Stored beside the database, readable by its owner only. */
export interface Demo {
  readonly url: string
  readonly email: string
  readonly password: string
  /** Null when people made so many keys in the demo tenant that none is left to make. */
  readonly api_key: string | null
}

const EMAIL = 'demo@countersign.local'
const KEY_NAME = 'demo key'
const demoFile = (dataFolder: string) => join(resolve(dataFolder), 'demo.json')

/**
 * Opens the demo tenant of a development server: the same sign-in and the same key at every start of a data folder.
 * In production, and without a demo, a tenant that another start left in the database is closed, and null is returned.
 */
export async function openDemo(services: Services, url: string): Promise<Demo | null> {
  const { config, database, accounts } = services
  const known = await findCredentials(database.sql, EMAIL)
  if (config.mode !== 'development' || !config.demo) {
    if (known !== undefined) await closeDemo(services, known)
    await rm(demoFile(config.dataFolder), { force: true })
    return null
  }
  const stored = await readDemo(config.dataFolder)
  const hash = known?.passwordHash ?? null
  const fits = hash !== null && stored.password !== null && (await accounts.passwords.verify(stored.password, hash))
  const password = fits && stored.password !== null ? stored.password : randomBytes(9).toString('base64url')
  const passwordHash = fits ? hash : await accounts.passwords.hash(password)
  const api_key = await storeDemo(services, known, { passwordHash, key: stored.api_key })
  const demo = { url, email: EMAIL, password, api_key }
  await writePrivately(demoFile(config.dataFolder), `${JSON.stringify(demo, null, 2)}\n`)
  return demo
}

interface DemoUser {
  readonly tenantId: string
  readonly userId: string
  readonly passwordHash: string | null
}

/** The key, a new one unless the stored one still works; null when the tenant has as many keys as it may have. */
async function storeDemo(
  { database, random }: Services,
  known: DemoUser | undefined,
  { passwordHash, key: stored }: { readonly passwordHash: string; readonly key: string | null },
): Promise<string | null> {
  const tenantId = known?.tenantId ?? makeId(random, 'tn')
  const userId = known?.userId ?? makeId(random, 'us')
  const key = makeApiKey(random)
  return database.transaction(tenantId, async (tx) => {
    if (known === undefined) {
      const account = { tenantId, userId, email: EMAIL, name: 'Demo', organisation: 'Demo' }
      const isNew = await insertAccount(tx, { ...account, passwordHash, quota: 'team' })
      if (!isNew) throw new Error(`the demo account is disabled: start without a demo (COUNTERSIGN_DEMO=off)`)
      await markVerified(tx, { tenantId, userId })
    } else if (known.passwordHash !== passwordHash) await updatePassword(tx, known, passwordHash)
    await lockTenant(tx, tenantId)
    const isKept = stored !== null && (await hasActiveKey(tx, { tenantId, name: KEY_NAME, keyHash: sha256(stored) }))
    if (isKept) return stored
    await revokeActiveKeys(tx, tenantId, KEY_NAME)
    if ((await countActiveKeys(tx, tenantId)) >= LIMITS.activeKeysPerTenant) return null
    const keyId = makeId(random, 'key')
    await insertKey(tx, { tenantId, keyId, userId, name: KEY_NAME, prefix: key.prefix, keyHash: key.hash })
    return key.raw
  })
}

/** The new password is unknown, no key works, all sign-ins end. The tenant's records stay. */
async function closeDemo({ database, accounts, log }: Services, user: DemoUser): Promise<void> {
  const passwordHash = await accounts.passwords.hash(randomBytes(32).toString('base64url'))
  const keys = await database.transaction(user.tenantId, async (tx) => {
    await lockTenant(tx, user.tenantId)
    const active = await countActiveKeys(tx, user.tenantId)
    await updatePassword(tx, user, passwordHash)
    await revokeActiveKeys(tx, user.tenantId, null)
    await revokeRefreshTokensOf(tx, user)
    return active
  })
  // Closed before: at each start without a demo.
  if (keys === 0) return
  const why = 'this one starts without a demo (COUNTERSIGN_DEMO, or production mode)'
  log.warn(
    { tenant_id: user.tenantId, revoked_keys: keys },
    `the demo is closed for every instance on this database: ${why}`,
  )
}

async function readDemo(dataFolder: string): Promise<Pick<Demo, 'api_key'> & { readonly password: string | null }> {
  try {
    const { password, api_key }: Partial<Demo> = JSON.parse(await readFile(demoFile(dataFolder), 'utf8'))
    return {
      password: typeof password === 'string' ? password : null,
      api_key: typeof api_key === 'string' ? api_key : null,
    }
  } catch {
    return { password: null, api_key: null }
  }
}

async function writePrivately(file: string, text: string): Promise<void> {
  const draft = `${file}.draft`
  makeFolder(resolve(file, '..'), 0o700)
  await writeFile(draft, text, { mode: 0o600 })
  // An old draft keeps the rights it had.
  await chmod(draft, 0o600)
  await rename(draft, file)
}
