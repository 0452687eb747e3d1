import { contradictionOf, GENESIS_HASH, headsDigest, sealDigest, sealText, signedHeadText } from '@countersign/engine'
import type { Seal, SignedHead } from '@countersign/protocol'
import type { LedgerSigner } from '../../base/crypto/ledger-keys.js'
import type { Services } from '../../context/context.js'
import type { Tx } from '../../postgres/sql.js'
import { findLastSeal, insertSeal } from '../../store/ledgers/seals.js'
import {
  findLaterEvent,
  type LedgerName,
  type LedgerToSign,
  listMovedLedgers,
  listNextLedgers,
  loadLedgers,
  lockSigning,
  noteContradiction,
  saveSigning,
  storeSignedHeads,
} from '../../store/ledgers/signed-heads.js'
import type { Job } from './job.js'

/** Events may become visible this much after the time they carry: no statement runs longer. */
const SETTLED_AFTER_MS = 30_000

/** Of one piece: events that are looked at, ledgers that moved by them, and ledgers that are merely looked at again. */
const EVENTS_BATCH = 5_000
const MOVED_BATCH = 500
const ROUND_BATCH = 100
/** Where the signing is behind, the ledgers of so many events that came last are signed as well. */
const NEWEST_EVENTS = 6_000

/**
 * Signs the heads of ledgers that moved, apart from the requests that move them, and looks at all ledgers in turn. A head
 * that contradicts an earlier signed one is not signed: the database was changed by hand (decision 0017).
 */
export const signHeadsJob: Job = {
  name: 'sign-heads',
  everySeconds: 5,
  ownLane: true,
  run: async (tx, services) => {
    if (services.ledgerSigner === null) return false
    return signHeads(tx, services, services.ledgerSigner)
  },
}

/** True when more has moved than it signed. */
export async function signHeads(tx: Tx, services: Services, signer: LedgerSigner): Promise<boolean> {
  const progress = await lockSigning(tx)
  const until = await findLaterEvent(tx, progress.until, EVENTS_BATCH)
  const since = new Date(progress.until.getTime() - SETTLED_AFTER_MS)
  const moved = await listMovedLedgers(tx, { since, until }, MOVED_BATCH)
  const isAll = moved.length < MOVED_BATCH
  // A tenant that outpaces the signing delays only itself.
  const recent =
    until === null ? [] : await listMovedLedgers(tx, { since: until, until: null, newest: NEWEST_EVENTS }, MOVED_BATCH)
  const round = await listNextLedgers(tx, progress, ROUND_BATCH)
  const signed: SignedHead[] = []
  for (const ledger of await loadAll(tx, moved, recent, round)) {
    const head = await judge(tx, services, signer, ledger, progress.now)
    if (head !== null) signed.push(head)
  }
  await storeSignedHeads(tx, signed)
  if (signed.length > 0) await seal(tx, services, signer, signed, progress.now)
  const last = round.at(-1)
  await saveSigning(tx, {
    // Where more moved than one piece signs, the next one finds the rest.
    until: isAll ? (until ?? progress.now) : progress.until,
    lastTenant: last?.tenantId ?? '',
    lastId: last?.id ?? '',
  })
  return !isAll || until !== null
}

async function loadAll(tx: Tx, ...lists: readonly LedgerName[][]): Promise<LedgerToSign[]> {
  const names = new Map(lists.flat().map((name) => [`${name.ledger} ${name.tenantId} ${name.id}`, name]))
  const of = (ledger: LedgerName['ledger']) =>
    loadLedgers(
      tx,
      ledger,
      [...names.values()].filter((name) => name.ledger === ledger),
    )
  return [...(await of('session')), ...(await of('workflow'))]
}

/** The head to sign, or null: it is signed already, or contradicts what was signed. */
async function judge(
  tx: Tx,
  { log }: Services,
  signer: LedgerSigner,
  ledger: LedgerToSign,
  now: Date,
): Promise<SignedHead | null> {
  const { head, signed, hashAt } = ledger
  if (signed !== null) {
    const isOurs = await signer.verify(signedHeadText(signed), signed)
    const problem = isOurs
      ? contradictionOf(signed, { head: head ?? { seq: 0, hash: '' }, hashAt })
      : 'the signed head has a signature that is not ours: it was changed in the database, or its key is missing in the settings'
    if (problem !== ledger.problem) {
      await noteContradiction(tx, ledger, problem)
      const where = { ledger: ledger.ledger, tenant_id: ledger.tenantId, id: ledger.id }
      if (problem === null) log.warn(where, 'a ledger agrees with its signed head again')
      else log.error({ ...where, problem }, 'a ledger contradicts its signed head: the database was changed')
    }
    if (problem !== null || signed.seq === head?.seq) return null
  }
  if (head === null) return null
  const unsigned = {
    ledger: ledger.ledger,
    tenant_id: ledger.tenantId,
    id: ledger.id,
    ...head,
    signed_at: now.toISOString(),
    key_id: signer.keyId,
  }
  return { ...unsigned, signature: await signer.sign(signedHeadText(unsigned)) }
}

/** Published in the log and by a route: who keeps these lines notices when the database is set back. */
async function seal(
  tx: Tx,
  { log }: Services,
  signer: LedgerSigner,
  heads: readonly SignedHead[],
  now: Date,
): Promise<void> {
  const before = await findLastSeal(tx)
  const unsigned = {
    number: (before?.number ?? 0) + 1,
    at: now.toISOString(),
    digest: headsDigest(heads),
    prev_digest: before === null ? GENESIS_HASH : sealDigest(before),
    key_id: signer.keyId,
  }
  const made: Seal = { ...unsigned, signature: await signer.sign(sealText(unsigned)) }
  await insertSeal(tx, made)
  log.info({ seal: made, heads: heads.length }, 'ledger heads were signed')
}
