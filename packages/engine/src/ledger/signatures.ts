import { createHash, createPublicKey, verify } from 'node:crypto'
import type { JsonValue, LedgerHead, LedgerKey, Seal, SignedHead } from '@countersign/protocol'
import { canonicalJson } from '../json/canonical-json.js'
import { hashValue } from '../json/hash.js'

/** What is signed of a head. */
export function signedHeadText({ ledger, tenant_id, id, seq, hash, signed_at, key_id }: Unsigned<SignedHead>): string {
  const purpose = 'countersign ledger head'
  return canonicalJson({ purpose, ledger, tenant_id, id, seq, hash, signed_at, key_id })
}

/** What is signed of a seal; its digest is what the next one names. */
export function sealText({ number, at, digest, prev_digest, key_id }: Unsigned<Seal>): string {
  return canonicalJson({ purpose: 'countersign seal', number, at, digest, prev_digest, key_id })
}

type Unsigned<Signed> = Omit<Signed, 'signature'>

export const sealDigest = (seal: Unsigned<Seal>): string => createHash('sha256').update(sealText(seal)).digest('hex')

/** The digest of the heads of one seal, in the order in which they were signed. */
export const headsDigest = (heads: readonly SignedHead[]): string => hashValue(heads as unknown as JsonValue)

/** By which a signature names its key. Takes the raw 32 bytes. */
export const ledgerKeyId = (publicKey: Uint8Array): string =>
  createHash('sha256').update(publicKey).digest('hex').slice(0, 32)

/** What is wrong with the signature of a head, or null. */
export const signedHeadProblem = (head: SignedHead, keys: readonly LedgerKey[]): string | null =>
  signatureProblem(signedHeadText(head), head, keys)

/** What is wrong with the signature of a seal, or null. */
export const sealProblem = (seal: Seal, keys: readonly LedgerKey[]): string | null =>
  signatureProblem(sealText(seal), seal, keys)

/** How a verified chain contradicts a signed head, or null. The chain may have gone on since. */
export function contradictionOf(
  signed: LedgerHead,
  { head, hashAt }: { readonly head: LedgerHead; readonly hashAt: string | null },
): string | null {
  if (head.seq < signed.seq)
    return `the ledger ends at event ${head.seq}, but event ${signed.seq} was signed: events were removed`
  if (hashAt !== signed.hash) return `event ${signed.seq} is not the one that was signed: the ledger was rewritten`
  return null
}

function signatureProblem(
  text: string,
  { key_id, signature }: { readonly key_id: string; readonly signature: string },
  keys: readonly LedgerKey[],
): string | null {
  const key = keys.find((known) => known.key_id === key_id && idMatches(known))
  if (key === undefined) return `it was signed with the key ${key_id}, which is not among the given keys`
  const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: key.public_key }, format: 'jwk' })
  const isRight = verify(null, Buffer.from(text), publicKey, Buffer.from(signature, 'base64url'))
  return isRight ? null : 'the signature does not match'
}

/** An id that does not belong to its key names nothing. */
const idMatches = ({ key_id, public_key }: LedgerKey): boolean =>
  ledgerKeyId(Buffer.from(public_key, 'base64url')) === key_id
