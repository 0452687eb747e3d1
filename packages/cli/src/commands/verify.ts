import { readFile, writeFile } from 'node:fs/promises'
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
import { serviceOf } from '../api/call-route.js'
import { fetchLedger } from '../api/fetch-ledger.js'
import { BrokenEvent, firstBrokenEvent } from '../report/broken-event.js'
import { type Command, type Terminal, Unreadable, UsageError } from '../terminal/command.js'

export const verify: Command = {
  usage: 'verify [--workflow] ID --url URL [--key KEY] [--save FILE] | verify FILE [--head SEQ:HASH]',
  summary: 'check the ledger of a session or a workflow: its chain, that what it tells adds up, and a known head',
  help: () =>
    [
      'ID is a session, or a workflow with --workflow. It is read from the service at --url with the API key --key, or',
      'the one in COUNTERSIGN_API_KEY. Without both flags the name is that of a file. --save writes what was read, for a',
      'later check without the service. FILE is such an export, of either kind. A session must fold to the state that is',
      'kept of it; in a workflow each handoff has one winner, no two calls hold what excludes the other, and a kill ends',
      'it.',
      '--head is a head that you kept, such as 12:9f86d0…; a ledger that was cut short of it fails.',
      'The exit code is 0 when everything holds and 1 when not: then the first broken event is named. It is 2 when there',
      'was nothing to check, since the service or the file could not be read.',
    ].join('\n'),
  run: async (args, terminal) => {
    const options = { url: text, key: text, save: text, head: text, workflow: { type: 'boolean' } } as const
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const [subject, ...rest] = positionals
    if (subject === undefined || rest.length > 0) throw new UsageError('expected one session, one workflow or one file')
    const head = values.head === undefined ? null : readHead(values.head)
    try {
      const ledger = await readLedger(subject, values)
      if (values.save !== undefined) await writeFile(values.save, `${JSON.stringify(ledger.exported, null, 2)}\n`)
      return judge(ledger, head, terminal)
    } catch (error) {
      if (!(error instanceof BrokenEvent)) throw error
      return broken(error.seq, error.message, terminal)
    }
  },
}

const text = { type: 'string' } as const

/** An exported ledger with what it takes to check it. */
interface Ledger {
  readonly name: string
  readonly head: LedgerHead
  readonly exported: unknown
  readonly check: () => ChainCheck
  /** Whether the chain passes through a head that was seen once. */
  readonly checkHead: (known: LedgerHead) => ChainCheck
}

const ofSession = (exported: LedgerExport): Ledger => ({
  name: exported.session_id,
  head: exported.head,
  exported,
  check: () => verifyExport(exported),
  checkHead: (known) => verifyChain(exported.events.slice(0, known.seq), known),
})

const ofWorkflow = (exported: WorkflowLedgerExport): Ledger => ({
  name: exported.workflow_id,
  head: exported.head,
  exported,
  check: () => verifyWorkflowExport(exported),
  checkHead: (known) => verifyWorkflowChain(exported.events.slice(0, known.seq), known),
})

async function readLedger(
  subject: string,
  given: {
    url?: string | undefined
    key?: string | undefined
    save?: string | undefined
    workflow?: boolean | undefined
  },
): Promise<Ledger> {
  if (given.url === undefined && given.key === undefined) {
    if (given.workflow) throw new UsageError('--workflow goes with --url and --key; a file says itself what it is')
    return readExport(subject)
  }
  const service = serviceOf(given)
  const ledger = given.workflow
    ? ofWorkflow(await fetchLedger(service, 'exportWorkflowEvents', { workflow_id: subject }))
    : ofSession(await fetchLedger(service, 'exportEvents', { session_id: subject }))
  if (ledger.name !== subject) throw new Unreadable(`${service.url} answered with the ledger of ${ledger.name}`)
  return ledger
}

/** 0 when everything holds; 1 otherwise, with the first broken event. */
function judge(ledger: Ledger, known: LedgerHead | null, terminal: Terminal): number {
  for (const result of [ledger.check(), known === null ? null : ledger.checkHead(known)]) {
    if (result !== null && !result.ok) return broken(result.brokenAt, result.problem, terminal)
  }
  const { name, head } = ledger
  terminal.print(`${name}: ${head.seq} events hold; head ${head.seq}:${head.hash}`)
  return 0
}

function broken(seq: number, problem: string, { print }: Terminal): number {
  print(`broken at event ${seq}: ${problem}`)
  return 1
}

function readHead(given: string): LedgerHead {
  const match = /^([1-9][0-9]*):([0-9a-f]{64})$/.exec(given)
  if (!match?.[1] || !match[2]) throw new UsageError('--head is SEQ:HASH, such as 12:9f86d0…')
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
    const why = error instanceof SyntaxError ? 'it is not JSON' : (WORDS[String(code)] ?? String(code ?? error))
    throw new Unreadable(`${file} cannot be read: ${why}; to read a ledger from the service, add --url and --key`)
  }
  // Readers differ in what they take it for: one would see what was never checked.
  const doubt = doubtfulJson(written)
  if (doubt !== null) throw new Unreadable(`${file} cannot be checked: ${doubt}`)
  const isWorkflow = typeof parsed === 'object' && parsed !== null && 'workflow_id' in parsed
  const shape = isWorkflow ? exportWorkflowEventsReply.safeParse(parsed) : exportEventsReply.safeParse(parsed)
  if (!shape.success) throw firstBrokenEvent(shape.error) ?? new Unreadable(`${file} is not an export of a ledger`)
  // As it was written: a schema's copy has defaults in it, and lacks a key `__proto__`.
  return isWorkflow ? ofWorkflow(parsed as WorkflowLedgerExport) : ofSession(parsed as LedgerExport)
}

/** By the code of what went wrong. */
const WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'it is not UTF-8',
}
