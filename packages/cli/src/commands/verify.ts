import { readFile, writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { verifyChain, verifyExport } from '@countersign/engine'
import { exportEventsReply, type LedgerExport, type LedgerHead } from '@countersign/protocol'
import { type Command, type Terminal, UsageError } from '../command.js'

export const verify: Command = {
  usage: 'verify SESSION --url URL --key KEY [--save FILE] | verify FILE [--head SEQ:HASH]',
  summary: "check a session's ledger: its chain, that it folds to the kept state, and a known head",
  help: () =>
    [
      'SESSION is read from the service at --url with the API key --key; without them COUNTERSIGN_API_URL and',
      'COUNTERSIGN_API_KEY are not looked at. --save writes what was read, for a later check without the service.',
      'FILE is such an export. --head is a head that you kept, such as 12:9f86d0…; a ledger that was cut short of it fails.',
      'The exit code is 0 when everything holds and 1 when not; the first broken event is named.',
    ].join('\n'),
  run: async (args, terminal) => {
    const options = { url: text, key: text, save: text, head: text }
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const [subject, ...rest] = positionals
    if (subject === undefined || rest.length > 0) throw new UsageError('expected one session or one file')
    const head = values.head === undefined ? null : readHead(values.head)
    if (values.url === undefined && values.key === undefined) return judge(await readExport(subject), head, terminal)
    if (values.url === undefined || values.key === undefined) throw new UsageError('--url and --key go together')
    const exported = await fetchExport({ sessionId: subject, url: values.url, key: values.key })
    if (values.save !== undefined) {
      await writeFile(values.save, `${JSON.stringify(exported, null, 2)}\n`)
    }
    return judge(exported, head, terminal)
  },
}

const text = { type: 'string' } as const

/** 0 when chain, plan, fold and head hold; 1 otherwise, with the first broken event. */
function judge(exported: LedgerExport, known: LedgerHead | null, { print }: Terminal): number {
  const result = verifyExport(exported)
  if (!result.ok) return broken(result.brokenAt, result.problem, print)
  const cut = known === null ? null : cutAt(exported, known)
  if (cut !== null) return broken(cut.brokenAt, cut.problem, print)
  const { session_id, head } = exported
  print(`${session_id}: ${head.seq} events hold; head ${head.seq}:${head.hash}`)
  return 0
}

function broken(seq: number, problem: string, print: Terminal['print']): number {
  print(`broken at event ${seq}: ${problem}`)
  return 1
}

/** A head that was seen once must still lie in the chain. */
function cutAt({ events }: LedgerExport, known: LedgerHead): { brokenAt: number; problem: string } | null {
  const result = verifyChain(events.slice(0, known.seq), known)
  return result.ok ? null : result
}

function readHead(given: string): LedgerHead {
  const match = /^([1-9][0-9]*):([0-9a-f]{64})$/.exec(given)
  if (!match?.[1] || !match[2]) throw new UsageError('--head is SEQ:HASH, such as 12:9f86d0…')
  return { seq: Number(match[1]), hash: match[2] }
}

async function readExport(file: string): Promise<LedgerExport> {
  const parsed: unknown = JSON.parse(await readFile(file, 'utf8'))
  const checked = exportEventsReply.safeParse(parsed)
  if (!checked.success) throw new UsageError(`${file} is not an export of a ledger`)
  return checked.data
}

/** All pages up to the head that the first one showed: a session may go on while it is read. */
async function fetchExport(from: { sessionId: string; url: string; key: string }): Promise<LedgerExport> {
  const first = await fetchPage(from, 0)
  const events = [...first.events]
  for (let next = first.next; next !== null && next < first.head.seq; ) {
    const page = await fetchPage(from, next)
    events.push(...page.events)
    next = page.next
  }
  return { ...first, events: events.filter(({ seq }) => seq <= first.head.seq), next: null }
}

async function fetchPage({ sessionId, url, key }: { sessionId: string; url: string; key: string }, after: number) {
  const path = `/api/v1/replay/sessions/${encodeURIComponent(sessionId)}/events?limit=1000&after=${after}`
  const response = await fetch(new URL(path, url), { headers: { authorization: `Bearer ${key}` } })
  const body: unknown = await response.json().catch(() => null)
  if (!response.ok) {
    const title =
      typeof body === 'object' && body !== null && 'title' in body ? body.title : 'no answer that can be read'
    throw new UsageError(`${url} answered ${response.status}: ${String(title)}`)
  }
  return exportEventsReply.parse(body)
}
