import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { parseResultText } from '@countersign/engine'
import { SIDE_EFFECTS, type SideEffect } from '@countersign/protocol'

/** One recorded suite: tools, and traces joined with the full text of their results. */
export interface Suite {
  readonly name: string
  /** Without a side effect where the data names none: then the learner guesses it, as it does for a live agent. */
  readonly tools: readonly { name: string; schema: unknown; sideEffect?: SideEffect }[]
  readonly traces: readonly Trace[]
}

/** What an engine may see is `user`, and of each call name, arguments, turn and result; the labels only score. */
export interface Trace {
  readonly id: string
  readonly user: string
  readonly calls: readonly RecordedCall[]
  readonly labels: {
    readonly kind: string
    readonly task: string
    readonly fold: number
    readonly utility: boolean
    readonly duplicate: boolean
  }
}

export interface RecordedCall {
  readonly name: string
  readonly arguments: unknown
  readonly turn: number
  /** What the user said last before this call, where the recording says so; the first request is the trace's. */
  readonly said?: string
  readonly result: string
  /** The result as the engine reads it; the same text is read once, however often it is replayed. */
  readonly shown: unknown
  readonly labels: { injected?: string; tainted: boolean; gold?: boolean; error: boolean }
}

/** What is wrong with a folder, for the person who passed it. */
export class DataError extends Error {
  override name = 'DataError'
}

export const FOLDS = 5
const TOOLS = '-tools.json'

/** The suites of a folder, by their files `<source>-<suite>-tools.json`. */
export function findSuites(folder: string): { name: string; read(): Suite }[] {
  const prefixes = readdirSync(folder)
    .filter((file) => file.endsWith(TOOLS) && file.length > TOOLS.length)
    .map((file) => file.slice(0, -TOOLS.length))
    .sort()
  if (prefixes.length === 0) throw new DataError(`${folder} holds no suite: a file <source>-<suite>${TOOLS} begins one`)
  const short = (prefix: string) => prefix.slice(prefix.indexOf('-') + 1)
  return prefixes.map((prefix) => {
    const taken = prefixes.some((other) => other !== prefix && short(other) === short(prefix))
    const name = taken ? prefix : short(prefix)
    return { name, read: () => readSuite(folder, prefix, name) }
  })
}

export const readSuites = (folder: string): Suite[] => findSuites(folder).map(({ read }) => read())

/** Missing fields read as empty: a suite with gaps is measured as far as possible. */
type Raw = Readonly<Record<string, unknown>>

function readSuite(folder: string, prefix: string, name: string): Suite {
  const lines = (suffix: string) => readLines(folder, `${prefix}${suffix}.jsonl`)
  const texts = new Map(lines('-results').map(({ ref, text }) => [String(ref), textOf(text)]))
  const shown = new Map<string, unknown>()
  const showing = (text: string): unknown => {
    if (!shown.has(text)) shown.set(text, parsedOf(text))
    return shown.get(text)
  }
  const raw = [...lines(''), ...lines('-core'), ...lines('-extra')]
  return {
    name,
    tools: readTools(folder, `${prefix}${TOOLS}`),
    traces: raw.map((trace, at) => toTrace(trace, at, texts, showing)),
  }
}

/** Caches only parsed structures: plain text costs nothing to read again. */
function parsedOf(text: string): unknown {
  const value = parseResultText(text)
  return typeof value === 'object' && value !== null ? value : text
}

/** Maps the data's names for side effects to ours. */
const EFFECT_WORDS: Record<string, SideEffect> = { 'egress-read': 'egress_read', irreversible: 'destructive' }

function readTools(folder: string, file: string): Suite['tools'] {
  const tools = parse(readFileSync(join(folder, file), 'utf8'), file)
  if (!Array.isArray(tools)) throw new DataError(`${file}: expected a list of tools`)
  return tools.flatMap((tool: Raw) => {
    if (typeof tool?.name !== 'string' || tool.name === '') return []
    const word = String(tool.side_effect ?? '')
    const sideEffect = EFFECT_WORDS[word] ?? SIDE_EFFECTS.find((effect) => effect === word)
    return [{ name: tool.name, schema: tool.parameters ?? {}, ...(sideEffect !== undefined && { sideEffect }) }]
  })
}

function toTrace(raw: Raw, at: number, texts: ReadonlyMap<string, string>, showing: (text: string) => unknown): Trace {
  const id = String(raw.id ?? `trace ${at + 1}`)
  const task = String(raw.user_task ?? id)
  const calls = Array.isArray(raw.calls) ? raw.calls.filter((call) => typeof call?.name === 'string') : []
  return {
    id,
    user: textOf(raw.user_prompt),
    calls: calls.map((call: Raw, index) => toCall(call, index, texts, showing)),
    labels: {
      kind: String(raw.kind ?? 'benign'),
      task,
      fold: typeof raw.fold === 'number' ? raw.fold : foldOf(task),
      utility: raw.utility === true,
      duplicate: typeof raw.dup_of === 'string' && raw.dup_of !== '',
    },
  }
}

function toCall(
  raw: Raw,
  index: number,
  texts: ReadonlyMap<string, string>,
  showing: (text: string) => unknown,
): RecordedCall {
  const oracle = (typeof raw.oracle === 'object' && raw.oracle !== null ? raw.oracle : {}) as Raw
  const result = texts.get(String(raw.result_ref)) ?? textOf(raw.result_excerpt)
  return {
    name: String(raw.name),
    arguments: raw.arguments ?? {},
    turn: typeof raw.turn === 'number' ? raw.turn : index,
    ...(typeof raw.prev_user === 'string' && { said: raw.prev_user }),
    result,
    shown: showing(result),
    labels: {
      ...(typeof oracle.injected === 'string' && { injected: oracle.injected }),
      ...(typeof oracle.gold === 'boolean' && { gold: oracle.gold }),
      tainted: oracle.result_tainted === true,
      error: typeof raw.error === 'string' && raw.error !== '',
    },
  }
}

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value)

/** Assigns tasks of a suite without folds evenly and deterministically. */
function foldOf(task: string): number {
  let sum = 0
  for (const letter of task) sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) % 1_000_003
  return sum % FOLDS
}

/** The lines of a file, plain or compressed; none if the file does not exist. */
function readLines(folder: string, file: string): Raw[] {
  const packed = join(folder, `${file}.gz`)
  const plain = join(folder, file)
  const text = existsSync(packed)
    ? unpack(packed).toString('utf8')
    : existsSync(plain)
      ? readFileSync(plain, 'utf8')
      : ''
  return text.split('\n').flatMap((line, at) => {
    if (line.trim() === '') return []
    const value = parse(line, `${file}, line ${at + 1}`)
    return typeof value === 'object' && value !== null ? [value as Raw] : []
  })
}

function unpack(path: string): Buffer {
  try {
    return gunzipSync(readFileSync(path))
  } catch (error) {
    throw new DataError(`${path} cannot be unpacked: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function parse(text: string, where: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new DataError(`${where} is not JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
}
