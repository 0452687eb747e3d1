import { readFile } from 'node:fs/promises'
import { LEDGER_KEYS_PATH, type LedgerKey, ledgerKeysReply } from '@countersign/protocol'
import { Unreadable } from '../terminal/command.js'
import type { Service } from './call-route.js'

/** The public keys that a server publishes. Empty when it signs nothing, or is of a version that did not. */
export async function fetchLedgerKeys({ url }: Pick<Service, 'url'>): Promise<readonly LedgerKey[]> {
  const response = await fetch(new URL(LEDGER_KEYS_PATH, url)).catch((error: unknown) => {
    throw new Unreadable(`${url} cannot be reached: ${error instanceof Error ? error.message : error}`)
  })
  const parsed = ledgerKeysReply.safeParse(await response.json().catch(() => null))
  return parsed.success ? parsed.data.keys : []
}

/** Keys that were saved with `countersign ledger-key list --json`, or from the address where a server publishes them. */
export async function readLedgerKeys(file: string): Promise<readonly LedgerKey[]> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Unreadable(`${file} cannot be read: ${error.code ?? error.message}`)
  })
  const parsed = ledgerKeysReply.safeParse(jsonOrNull(text))
  if (!parsed.success)
    throw new Unreadable(`${file} holds no ledger keys: save them with countersign ledger-key list --json`)
  return parsed.data.keys
}

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
