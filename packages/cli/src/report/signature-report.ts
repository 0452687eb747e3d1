import { contradictionOf, signedHeadProblem } from '@countersign/engine'
import type { LedgerHead, LedgerKey, SignedHead } from '@countersign/protocol'

/** The keys to check a signature with, and where they come from. */
export interface TrustedKeys {
  readonly keys: readonly LedgerKey[]
  /** Given by the caller, so that the server's operator cannot choose them. */
  readonly arePinned: boolean
}

/** What the signature says of a ledger whose chain is intact: a failure, or sentences on what was checked and what was not. */
export type SignatureReport = { readonly problem: string } | { readonly lines: readonly string[] }

export interface SignedLedger {
  readonly ledger: SignedHead['ledger']
  readonly name: string
  readonly head: LedgerHead
  /** Null: not signed. Undefined: the export does not say. */
  readonly signed: SignedHead | null | undefined
  readonly hashAt: (seq: number) => string | null
}

export function reportSignature(of: SignedLedger, trusted: TrustedKeys | null): SignatureReport {
  const { signed, head } = of
  if (signed === null || signed === undefined) return withoutSignature(of, trusted)
  if (signed.ledger !== of.ledger || signed.id !== of.name)
    return { problem: `the signed head belongs to the ${signed.ledger} ${signed.id}` }
  const contradiction = contradictionOf(signed, { head, hashAt: of.hashAt(signed.seq) })
  if (contradiction !== null) return { problem: contradiction }
  if (trusted === null || trusted.keys.length === 0)
    return { lines: ['not checked: the signature of the head, since no keys are given: add --keys FILE'] }
  const forged = signedHeadProblem(signed, trusted.keys)
  if (forged !== null) return { problem: `the signed head is not genuine: ${forged}` }
  const lines = [`signed up to event ${signed.seq} at ${signed.signed_at} with key ${signed.key_id}`]
  if (signed.seq < head.seq) lines.push(`not signed yet: events ${signed.seq + 1} to ${head.seq}`)
  if (!trusted.arePinned)
    lines.push(
      'the key came from the server: save it (ledger-key list --json) and pass --keys FILE to rely on the server no more',
    )
  return { lines }
}

/** A caller who names keys expects a signature. */
function withoutSignature({ signed }: SignedLedger, trusted: TrustedKeys | null): SignatureReport {
  const why =
    signed === undefined
      ? 'the export holds no signed head'
      : 'no head of this ledger was signed yet; a server with COUNTERSIGN_LEDGER_KEYS signs within seconds'
  return trusted?.arePinned ? { problem: why } : { lines: [`not signed: ${why}`] }
}
