import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ledgerKeyId } from '@countersign/engine'
import type { LedgerKey } from '@countersign/protocol'
import { makeFolder } from '../make-folder.js'

/** Signs heads of ledgers. The private key is in the settings or the data folder, never in the database. */
export interface LedgerSigner {
  /** All keys that are or were used, the current one first. */
  readonly keys: readonly LedgerKey[]
  readonly keyId: string
  /** In base64url. Off the event loop. */
  sign(text: string): Promise<string>
  /** Whether one of our keys signed the text. Off the event loop. */
  verify(text: string, by: { readonly key_id: string; readonly signature: string }): Promise<boolean>
}

/** As it stands in the setting: `private:` and `public:` before 43 characters of base64url. */
const ENTRY = /^(private|public):([A-Za-z0-9_-]{43})$/

/** A new private key, as the setting takes it. */
export const newLedgerKey = (): string =>
  `private:${generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }).d}`

/** The first entry signs; those behind it are keys of the past, of which the public half is enough. */
export function createLedgerSigner(entries: readonly string[]): LedgerSigner {
  const keys = entries.map((entry, index) => publicHalf(entry, index === 0))
  const [first] = entries
  const [current] = keys
  if (first === undefined || current === undefined || !first.startsWith('private:'))
    throw new Error('the first ledger key must be a private one')
  const key = privateKey(first.slice('private:'.length))
  const publicKeys = new Map(keys.map(({ key_id, public_key }) => [key_id, publicKey(public_key)]))
  return {
    keys,
    keyId: current.key_id,
    verify: async (text, { key_id, signature }) => {
      const known = publicKeys.get(key_id)
      return (
        known !== undefined && (await verifyAsync(null, Buffer.from(text), known, Buffer.from(signature, 'base64url')))
      )
    },
    sign: async (text) => (await signAsync(null, Buffer.from(text), key)).toString('base64url'),
  }
}

const signAsync = promisify(sign)
const verifyAsync = promisify(verify)

const publicKey = (x: string): KeyObject => createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })

/** PKCS #8 around the 32 bytes of an Ed25519 key. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')

const privateKey = (seed: string): KeyObject =>
  createPrivateKey({
    key: Buffer.concat([PKCS8_PREFIX, Buffer.from(seed, 'base64url')]),
    format: 'der',
    type: 'pkcs8',
  })

function publicHalf(entry: string, current: boolean): LedgerKey {
  const match = ENTRY.exec(entry)
  if (!match?.[2]) throw new Error('a ledger key is private: or public: and 43 characters')
  const x = match[1] === 'public' ? match[2] : createPublicKey(privateKey(match[2])).export({ format: 'jwk' }).x
  if (x === undefined) throw new Error('a ledger key has no public half')
  return { key_id: ledgerKeyId(Buffer.from(x, 'base64url')), algorithm: 'ed25519', public_key: x, current }
}

/** The ledger keys of the data folder, one a line, newest first; made at the first start, readable by its owner only. */
export function storedLedgerKeys(dataFolder: string): readonly string[] {
  const file = join(dataFolder, 'ledger-keys')
  try {
    return readKeys(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  makeFolder(dataFolder, 0o700)
  try {
    writeFileSync(file, `${newLedgerKey()}\n`, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    // Another instance on the same folder was quicker: its key is ours.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  return readKeys(file)
}

const readKeys = (file: string): string[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
