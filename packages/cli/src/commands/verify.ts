import { existsSync } from 'node:fs'
import { open, readFile, writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import {
  type ChainCheck,
  doubtfulJson,
  verifyChain,
  verifyExport,
  verifyWorkflowChain,
  verifyWorkflowExport,
} from '@countersign/engine'
import {
  exportEventsReply,
  exportWorkflowEventsReply,
  type LedgerExport,
  type LedgerHead,
  type WorkflowLedgerExport,
} from '@countersign/protocol'
import { hasServiceInEnvironment, serviceOf } from '../api/call-route.js'
import { fetchLedger } from '../api/fetch-ledger.js'
import { fetchLedgerKeys, readLedgerKeys } from '../api/ledger-keys.js'
import { BrokenEvent, firstBrokenEvent } from '../report/broken-event.js'
import { reportSignature, type SignedLedger, type TrustedKeys } from '../report/signature-report.js'
import { archivesIn, isFolder } from '../terminal/archives-in.js'
import { type Command, type Terminal, Unreadable, UsageError } from '../terminal/command.js'

export const verify: Command = {
  usage: [
    'verify [--workflow] ID --url URL [--key KEY] [--keys FILE] [--save FILE] [--head SEQ:HASH]',
    'verify FILE [--keys FILE] [--head SEQ:HASH]',
    'verify ARCHIVE|FOLDER... [--keys FILE]',
  ],
  summary:
    'check the ledger of a session or workflow: its hash chain, its events, its signed head and a head you saved',
  help: () =>
    [
      'ID is a session, or with --workflow a workflow. Its ledger is read from the server at --url with the API key in',
      '--key or COUNTERSIGN_API_KEY. --save writes it to a file, which can be checked later without the server.',
      'Without --url and --key, the argument is such a FILE, of a session or a workflow; if there is none of that name,',
      'COUNTERSIGN_API_URL and COUNTERSIGN_API_KEY say which server to read from.',
      'ARCHIVE is a file that `archive` wrote, and FOLDER holds such files, also in folders of its own: each of their ledgers',
      'is checked, and that no file was changed. Of several files only broken ledgers are named.',
      'The events of a session must add up to its stored state. In a workflow, each handoff has one winner, no two calls',
      'hold resources that exclude each other, and a kill is final.',
      '--head is a head you saved earlier, such as 12:9f86d0…; a ledger that was truncated before it fails.',
      'The server signs heads with a key that is not in its database, so that a ledger rewritten there fails. The public',
      'keys are read from the server; --keys FILE takes those you saved (ledger-key list --json), and then a ledger',
      'without a signed head fails as well. What was not checked is said. Content is not part of a ledger: the dashboard',
      'checks what is stored of it against the hashes.',
      'Exit codes: 0 everything is intact; 1 something is not, and the first broken event is named; 2 nothing was checked,',
      'because the server or the file could not be read.',
    ].join('\n'),
  run: async (args, terminal) => {
    const options = { url: text, key: text, keys: text, save: text, head: text, workflow: { type: 'boolean' } } as const
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const [subject, ...rest] = positionals
    if (subject === undefined) throw new UsageError('expected one session id, workflow id or file, or archives')
    const head = values.head === undefined ? null : readHead(values.head)
    try {
      const from = { ...values, isFile: isFile(subject, values) }
      if (from.isFile && (rest.length > 0 || isFolder(subject) || (await isPacked(subject)))) {
        if (head !== null || values.save !== undefined)
          throw new UsageError('--head and --save are for one ledger that the server still has')
        // With it comes the server's code, which no other file needs.
        const { reportArchives } = await import('../report/archive-report.js')
        return await reportArchives(await archivesIn(positionals), await keysFor(from), terminal)
      }
      if (rest.length > 0) throw new UsageError('expected one session id or workflow id; only archives may be several')
      const ledger = await readLedger(subject, from)
      const trusted = await keysFor(from)
      if (values.save !== undefined) await writeFile(values.save, `${JSON.stringify(ledger.exported, null, 2)}\n`)
      return judge(ledger, { head, trusted }, terminal)
    } catch (error) {
      if (!(error instanceof BrokenEvent)) throw error
      return broken(error.seq, error.message, terminal)
    }
  },
}

const text = { type: 'string' } as const

/** An exported ledger and its checks. */
interface Ledger extends SignedLedger {
  readonly exported: unknown
  /** What its first event says that readers of a result want to know. */
  readonly facts: readonly string[]
  readonly check: () => ChainCheck
  /** Whether the chain contains a head that was seen earlier. */
  readonly checkHead: (known: LedgerHead) => ChainCheck
}

const ofSession = (exported: LedgerExport): Ledger => ({
  ledger: 'session',
  name: exported.session_id,
  head: exported.head,
  signed: exported.signed_head,
  hashAt: (seq) => exported.events[seq - 1]?.hash ?? null,
  exported,
  facts: principalFacts(exported),
  check: () => verifyExport(exported),
  checkHead: (known) => verifyChain(exported.events.slice(0, known.seq), known),
})

const ofWorkflow = (exported: WorkflowLedgerExport): Ledger => ({
  ledger: 'workflow',
  name: exported.workflow_id,
  head: exported.head,
  signed: exported.signed_head,
  hashAt: (seq) => exported.events[seq - 1]?.hash ?? null,
  exported,
  facts: [],
  check: () => verifyWorkflowExport(exported),
  checkHead: (known) => verifyWorkflowChain(exported.events.slice(0, known.seq), known),
})

/** Older ledgers do not say it: their principals were all as told. */
function principalFacts({ events: [first] }: LedgerExport): string[] {
  if (first?.type !== 'created') return []
  const { has_principal, principal_proof: proof } = first.body
  if (proof === 'no_person') return ['principal: no person, as the key of the session says']
  if (!has_principal) return []
  return [
    proof === 'proven'
      ? 'principal: proven by a token when the session was opened'
      : 'principal: as its program told it',
  ]
}

/** Not with a flag that names a service, nor where the environment names one and there is no such file. */
function isFile(subject: string, { url, key }: { url?: string | undefined; key?: string | undefined }): boolean {
  if (url !== undefined || key !== undefined) return false
  return existsSync(subject) || !hasServiceInEnvironment()
}

/** Exports are text; archives are compressed. */
async function isPacked(file: string): Promise<boolean> {
  const handle = await open(file).catch(() => null)
  if (handle === null) return false
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2)
    return bytesRead === 2 && buffer.readUInt16BE() === GZIP
  } catch {
    // A folder, for one; reading it says so.
    return false
  } finally {
    await handle.close()
  }
}

const GZIP = 0x1f8b

async function readLedger(
  subject: string,
  given: {
    url?: string | undefined
    key?: string | undefined
    save?: string | undefined
    workflow?: boolean | undefined
    isFile: boolean
  },
): Promise<Ledger> {
  if (given.isFile) {
    if (given.workflow) throw new UsageError('--workflow needs --url or --key; a file already says what it is')
    return readExport(subject)
  }
  const service = serviceOf(given)
  const ledger = given.workflow
    ? ofWorkflow(await fetchLedger(service, 'exportWorkflowEvents', { workflow_id: subject }))
    : ofSession(await fetchLedger(service, 'exportEvents', { session_id: subject }))
  if (ledger.name !== subject) throw new Unreadable(`${service.url} answered with the ledger of ${ledger.name}`)
  return ledger
}

/** Those the caller saved, or else those the server publishes. Null for a file without any. */
async function keysFor(given: {
  keys?: string | undefined
  url?: string | undefined
  key?: string | undefined
  isFile: boolean
}) {
  if (given.keys !== undefined) return { keys: await readLedgerKeys(given.keys), arePinned: true }
  if (given.isFile) return null
  return { keys: await fetchLedgerKeys(serviceOf(given)), arePinned: false }
}

interface Expected {
  /** Saved earlier. */
  readonly head: LedgerHead | null
  readonly trusted: TrustedKeys | null
}

/** 0 when everything is intact; otherwise 1, and what is broken is named. */
function judge(ledger: Ledger, { head: known, trusted }: Expected, terminal: Terminal): number {
  for (const result of [ledger.check(), known === null ? null : ledger.checkHead(known)]) {
    if (result !== null && !result.ok) return broken(result.brokenAt, result.problem, terminal)
  }
  const { name, head } = ledger
  const signature = reportSignature(ledger, trusted)
  if ('problem' in signature) {
    terminal.print(`broken: ${signature.problem}`)
    return 1
  }
  terminal.print(`${name}: ${head.seq} events are intact; head ${head.seq}:${head.hash}`)
  for (const line of [...signature.lines, ...ledger.facts]) terminal.print(line)
  return 0
}

function broken(seq: number, problem: string, { print }: Terminal): number {
  print(`broken at event ${seq}: ${problem}`)
  return 1
}

function readHead(given: string): LedgerHead {
  const match = /^([1-9][0-9]*):([0-9a-f]{64})$/.exec(given)
  if (!match?.[1] || !match[2]) throw new UsageError('--head must be SEQ:HASH, such as 12:9f86d0…')
  return { seq: Number(match[1]), hash: match[2] }
}

async function readExport(file: string): Promise<Ledger> {
  let parsed: unknown
  let written: string
  try {
    written = new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file))
    parsed = JSON.parse(written)
  } catch (error) {
    const { code } = error as { code?: unknown }
    const why = error instanceof SyntaxError ? 'it is not JSON' : (READ_PROBLEMS[String(code)] ?? String(code ?? error))
    throw new Unreadable(`${file} cannot be read: ${why}; to read a ledger from the server, add --url and --key`)
  }
  // JSON readers disagree about such text, so another one would see something that was never checked.
  const doubt = doubtfulJson(written)
  if (doubt !== null) throw new Unreadable(`${file} cannot be checked: ${doubt}`)
  const isWorkflow = typeof parsed === 'object' && parsed !== null && 'workflow_id' in parsed
  const shape = isWorkflow ? exportWorkflowEventsReply.safeParse(parsed) : exportEventsReply.safeParse(parsed)
  if (!shape.success) throw firstBrokenEvent(shape.error) ?? new Unreadable(`${file} is not an exported ledger`)
  // As it was written: the schema's copy adds defaults and loses a key `__proto__`, which would break the hashes.
  return isWorkflow ? ofWorkflow(parsed as WorkflowLedgerExport) : ofSession(parsed as LedgerExport)
}

/** Why a file cannot be read, by the code of the error. */
const READ_PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: 'the file does not exist',
  EISDIR: 'it is a folder',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'it is not UTF-8',
}
