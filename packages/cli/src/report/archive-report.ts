import { ArchiveError, type CheckedArchive, checkArchive } from '@countersign/server'
import type { Terminal } from '../terminal/command.js'
import { reportSignature, type TrustedKeys } from './signature-report.js'

/** Says of every ledger of an archive whether it holds. Returns the exit code: 1 when any does not, or the file was changed. */
export async function reportArchive(file: string, trusted: TrustedKeys | null, { print }: Terminal): Promise<number> {
  let checked: CheckedArchive
  try {
    checked = await checkArchive(file)
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error
    print(`broken: ${error.message}`)
    return 1
  }
  const { tenantId, ledgers } = checked
  let bad = 0
  let unsigned = 0
  for (const { ledger, id: name, head, signed, hashAtSigned, broken } of ledgers) {
    const signature = reportSignature({ ledger, name, head, signed, hashAt: () => hashAtSigned }, trusted)
    const forged = 'problem' in signature ? signature.problem : null
    const problem = broken === null ? forged : `event ${broken.seq}: ${broken.problem}`
    if (problem !== null) bad += 1
    if (signed === null) unsigned += 1
    const intact = `${name}: ${head.seq} events are intact; head ${head.seq}:${head.hash}`
    print(problem === null ? intact : `${name} is broken: ${problem}`)
  }
  print(
    `${ledgers.length - bad} of ${ledgers.length} ledgers of tenant ${tenantId} are intact, and the file has its digest`,
  )
  if (unsigned > 0) print(`not signed: ${unsigned} ledgers had no signed head when they were archived`)
  if (trusted === null && unsigned < ledgers.length)
    print('not checked: the signatures of the heads, since no keys are given: add --keys FILE')
  return bad === 0 ? 0 : 1
}
