import { toParameter, type Value } from './values.js'

/** The columns of a statement without a given type. */
// biome-ignore lint/suspicious/noExplicitAny: callers that know the type give it
export type Row = Record<string, any>

/** Writes the text of a statement and adds its values to those before it. */
type Write = (values: Value[]) => string
type Send = <Rows>(statement: Statement<Rows>) => Promise<Rows>

/** A statement, or a part of one. It is sent when it is awaited, so a part is not. */
export class Statement<Rows> implements Promise<Rows> {
  readonly [Symbol.toStringTag] = 'Statement'
  readonly write: Write
  readonly #send: Send
  #answer: Promise<Rows> | null = null
  /** It has a connection. */
  isSent = false
  /** It was given up, so it must not be sent. */
  isGivenUp = false

  constructor(send: Send, write: Write) {
    this.#send = send
    this.write = write
  }

  execute(): Promise<Rows> {
    this.#answer ??= this.#send(this)
    return this.#answer
  }

  // biome-ignore lint/suspicious/noThenProperty: so that `await` sends it
  then<A = Rows, B = never>(
    done?: ((rows: Rows) => A | PromiseLike<A>) | null,
    failed?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.execute().then(done, failed)
  }

  catch<B = never>(failed?: ((error: unknown) => B | PromiseLike<B>) | null): Promise<Rows | B> {
    return this.execute().catch(failed)
  }

  finally(done?: (() => void) | null): Promise<Rows> {
    return this.execute().finally(done)
  }

  /** Some rows at a time, within a transaction. */
  async *cursor(rows: number): AsyncGenerator<Awaited<Rows>, undefined> {
    const say = (write: Write) => new Statement<Rows>(this.#send, write)
    await say((values) => `declare batch no scroll cursor for ${this.write(values)}`)
    try {
      for (;;) {
        const batch = await say(() => `fetch ${rows} from batch`)
        if ((batch as object[]).length === 0) return
        yield batch
      }
    } finally {
      // Fails in a transaction that has failed, which closes it by itself.
      await say(() => 'close batch')
        .execute()
        .catch(() => {})
    }
  }
}

/** Names of tables or columns, quoted. */
export class Names {
  readonly text: string
  constructor(names: readonly string[]) {
    this.text = names.map((name) => `"${name.replaceAll('"', '""')}"`).join(', ')
  }
}

/** A statement that is part of another. */
// biome-ignore lint/suspicious/noExplicitAny: its own rows are never read
export type Fragment = Statement<any>
type Part = Value | Names | Fragment

/** Either the pool or a transaction: for statements that work in both. */
export interface Queryable {
  <Rows extends readonly object[] = Row[]>(texts: TemplateStringsArray, ...parts: readonly Part[]): Statement<Rows>
  (names: string | readonly string[]): Names
  /** A text as it is, with values for its `$1`, `$2`. Without values it may be several statements. */
  unsafe<Rows extends readonly object[] = Row[]>(text: string, values?: readonly Value[]): Statement<Rows>
}

export interface Tx extends Queryable {
  /** From now on a statement is waited for as long as it takes. */
  waitForAnswers(): void
}

export interface Sql extends Queryable {
  /** Runs `fn` in one transaction on one connection. `mode` is what BEGIN says of it, such as its isolation level. */
  begin<T>(fn: (tx: Tx) => Promise<T>, mode?: string): Promise<T>
  /** Waits for what is under way, though not for longer than `timeout` seconds. */
  end(options?: { timeout?: number }): Promise<void>
  /** There is a connection. */
  isHeard(): boolean
  /** A pooler gives each transaction another connection (decision 0007). Known after the first answer. */
  isPooled(): boolean
}

/** Runs statements on the connection of a transaction, or on one from the share of their tenant. */
export type Query = <T>(fn: (sql: Queryable) => Promise<T>) => Promise<T>

/** How statements are written that `send` sends. */
export function createTemplate(send: Send): Queryable {
  function template(first: TemplateStringsArray | string | readonly string[], ...parts: readonly Part[]) {
    if (typeof first === 'string') return new Names([first])
    if (!('raw' in first)) return new Names(first)
    return new Statement(send, (values) =>
      first.reduce((text, next, at) => text + writePart(parts[at - 1] as Part, values) + next),
    )
  }
  const unsafe = (text: string, given: readonly Value[] = []) =>
    new Statement(send, (values) => {
      for (const value of given) values.push(toParameter(value))
      return text
    })
  return Object.assign(template, { unsafe }) as Queryable
}

function writePart(part: Part, values: Value[]): string {
  if (part instanceof Statement) return part.write(values)
  if (part instanceof Names) return part.text
  return `$${values.push(toParameter(part))}`
}
