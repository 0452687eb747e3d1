import { ArchiveError, type CheckedArchive, checkArchive } from '@countersign/server'
import type { Terminal } from '../terminal/command.js'
import { reportSignature, type TrustedKeys } from './signature-report.js'

/** What was found in archives so far. */
interface Found {
  brokenFiles: number
  ledgers: number
  unsigned: number
}

/**
 * Says whether the ledgers of archives hold: of every one if there is one file, else of the broken ones. Returns the exit
 * code: 1 when any does not, or a file was changed.
 */
export async function reportArchives(
  files: readonly string[],
  trusted: TrustedKeys | null,
  { print }: Terminal,
): Promise<number> {
  const found: Found = { brokenFiles: 0, ledgers: 0, unsigned: 0 }
  for (const file of files) {
    const checked = await checkArchive(file).catch(refusal)
    if (checked instanceof ArchiveError) {
      print(`broken: ${checked.message}`)
      found.brokenFiles += 1
    } else reportFile(files.length === 1 ? null : file, checked, { trusted, found, print })
  }
  const { brokenFiles, ledgers, unsigned } = found
  if (files.length > 1) print(`${files.length - brokenFiles} of ${files.length} files are intact`)
  if (unsigned > 0) print(`not signed: ${unsigned} ledgers had no signed head when they were archived`)
  if (trusted === null && unsigned < ledgers)
    print('not checked: the signatures of the heads, since no keys are given: add --keys FILE')
  return brokenFiles === 0 ? 0 : 1
}

function refusal(error: unknown): ArchiveError {
  if (error instanceof ArchiveError) return error
  throw error
}

/** `file`: null where it is the only one. */
function reportFile(
  file: string | null,
  { tenantId, ledgers }: CheckedArchive,
  { trusted, found, print }: { trusted: TrustedKeys | null; found: Found; print: Terminal['print'] },
): void {
  let bad = 0
  for (const { ledger, id: name, head, signed, hashAtSigned, broken } of ledgers) {
    const signature = reportSignature({ ledger, name, head, signed, hashAt: () => hashAtSigned }, trusted)
    const forged = 'problem' in signature ? signature.problem : null
    const problem = broken === null ? forged : `event ${broken.seq}: ${broken.problem}`
    if (signed === null) found.unsigned += 1
    if (problem !== null) {
      bad += 1
      print(`${name} is broken: ${problem}`)
    } else if (file === null) print(`${name}: ${head.seq} events are intact; head ${head.seq}:${head.hash}`)
  }
  found.ledgers += ledgers.length
  if (bad > 0) found.brokenFiles += 1
  const intact = `${ledgers.length - bad} of ${ledgers.length} ledgers of tenant ${tenantId} are intact, and the file has its digest`
  print(file === null ? intact : `${file}: ${intact}`)
}
