import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { sealContradiction, sealsProblem } from '@countersign/engine'
import { type LedgerKey, type Seal, sealSchema } from '@countersign/protocol'
import { callRoute, RefusedError, type Service, serviceOf } from '../api/call-route.js'
import { fetchLedgerKeys, readLedgerKeys } from '../api/ledger-keys.js'
import { type Command, type Terminal, Unreadable, UsageError } from '../terminal/command.js'

export const seals: Command = {
  usage: ['seals [--url URL] [--key KEY]', 'seals check FILE [--keys FILE] [--url URL] [--key KEY]'],
  summary: 'print the seals over signed ledgers, or check that those you kept are still the same',
  help: () =>
    [
      'A seal covers a batch of signed ledger heads and names the seal before it. Keep the lines on another system: then a',
      'database that was set back, or written anew, shows. The service also writes each seal to its log.',
      '`check` reads FILE, which holds such lines or lines of that log, and compares them with the seals of the server at',
      '--url. --keys FILE takes the public keys that you saved (ledger-key list --json) instead of those that it publishes.',
      'Exit codes: 0 all are the same; 1 one is not, and it is named; 2 nothing was checked.',
    ].join('\n'),
  run: async (args, terminal) => {
    const options = { url: text, key: text, keys: text } as const
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const [verb, file, ...rest] = positionals
    const isCheck = verb === 'check' && file !== undefined && rest.length === 0
    if (!isCheck && (verb !== undefined || values.keys !== undefined))
      throw new UsageError('expected: seals, or seals check FILE')
    const service = serviceOf(values)
    if (!isCheck) {
      for (const seal of await fetchSeals(service)) terminal.print(JSON.stringify(seal))
      return 0
    }
    const kept = await readSeals(file)
    const keys = values.keys === undefined ? await fetchLedgerKeys(service) : await readLedgerKeys(values.keys)
    return compare({ kept, found: await fetchSeals(service), keys }, terminal)
  },
}

const text = { type: 'string' } as const

interface Compared {
  readonly kept: readonly Seal[]
  readonly found: readonly Seal[]
  readonly keys: readonly LedgerKey[]
}

/** What was kept is checked first: a line that is not the service's own says nothing about it. */
function compare({ kept, found, keys }: Compared, { print }: Terminal): number {
  const forged = kept.map((seal) => sealsProblem([seal], keys)).find((problem) => problem !== null)
  if (forged !== undefined) {
    print(`broken: in your file, ${forged}`)
    return 1
  }
  const problem = sealsProblem(found, keys) ?? kept.map((seal) => sealContradiction(seal, found)).find(Boolean) ?? null
  if (problem !== null) {
    print(`broken: ${problem}`)
    return 1
  }
  const oldest = found[0]?.number ?? 0
  const compared = kept.filter(({ number }) => number >= oldest)
  print(
    `${compared.length} of ${kept.length} kept seals were compared and are the same; the newest here is ${found.at(-1)?.number}`,
  )
  if (compared.length < kept.length) print(`not compared: the server has removed its seals before ${oldest}`)
  return 0
}

async function fetchSeals(service: Service): Promise<Seal[]> {
  const all: Seal[] = []
  try {
    for (let after: number | null = 0; after !== null; ) {
      const page: { seals: Seal[]; next: number | null } = await callRoute(service, 'listSeals', {
        query: { after: String(after), limit: '1000' },
      })
      all.push(...page.seals)
      after = page.next
    }
  } catch (error) {
    if (error instanceof RefusedError) throw new Unreadable(error.message)
    throw error
  }
  return all
}

/** One a line: as this command prints them, or inside a line of the service's log. Other lines are passed over. */
async function readSeals(file: string): Promise<Seal[]> {
  const written = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Unreadable(`${file} cannot be read: ${error.code ?? error.message}`)
  })
  const found = written.split('\n').flatMap((line) => {
    const seal = sealSchema.safeParse(sealIn(line))
    return seal.success ? [seal.data] : []
  })
  if (found.length === 0) throw new Unreadable(`${file} holds no seals: keep the lines that countersign seals prints`)
  return found
}

function sealIn(line: string): unknown {
  try {
    const parsed: unknown = JSON.parse(line)
    return typeof parsed === 'object' && parsed !== null && 'seal' in parsed ? parsed.seal : parsed
  } catch {
    return null
  }
}
