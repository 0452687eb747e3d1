import { resolve } from 'node:path'
import type { LedgerKey } from '@countersign/protocol'
import type { Config } from '../base/config.js'
import { createLedgerSigner, type LedgerSigner, storedLedgerKeys } from '../base/crypto/ledger-keys.js'

/** In production a key is configured or there is none: a data folder may be gone at the next start. */
export function ledgerSignerOf({ mode, ledgerKeys, dataFolder }: Config): LedgerSigner | null {
  if (ledgerKeys !== null) return createLedgerSigner(ledgerKeys)
  return mode === 'production' ? null : createLedgerSigner(storedLedgerKeys(resolve(dataFolder)))
}

/** The public keys of a configuration, the current one first. */
export const ledgerKeysOf = (config: Config): readonly LedgerKey[] => ledgerSignerOf(config)?.keys ?? []
