import { type Connection, createConnections } from './connections.js'
import { isOutdatedStatement } from './database-error.js'
import { DatabaseUnreachable } from './gave-up.js'
import { createHosts, type Hosts } from './hosts.js'
import { createOpening, type Settings } from './opening.js'
import { createTemplate, type Sql, type Statement, type Tx } from './sql.js'
import type { Value } from './values.js'

export interface ConnectOptions {
  /** What PostgreSQL shows of the connections, behind the service's name. */
  readonly name?: string
  readonly url: string
  readonly statementTimeoutMs?: number
  readonly lockTimeoutMs?: number
}

export const STATEMENT_TIMEOUT_MS = 15_000
export const LOCK_TIMEOUT_MS = 2_000
const IDLE_IN_TRANSACTION_MS = 10_000
/** An answer that takes longer than a statement may will not come: where a network swallows it, nothing else says so. */
const ANSWER_PER_STATEMENT_TIMEOUT = 1.3

/** A pool with our timeouts and types. Also used where one connection is enough (migrations, tests). */
export function connect(
  { url, name, statementTimeoutMs = STATEMENT_TIMEOUT_MS, lockTimeoutMs = LOCK_TIMEOUT_MS }: ConnectOptions,
  { max, settings = {} }: { max: number; settings?: Settings },
  hosts: Hosts = createHosts(url),
): Sql {
  const opening = createOpening(
    url,
    {
      statement_timeout: statementTimeoutMs,
      lock_timeout: lockTimeoutMs,
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
      // Pages read little, but PostgreSQL may expect much and compile the statement first, which takes longer than to run it.
      jit: 'off',
      // One statement has one process: those of a tenant would otherwise take three times its share of the processors.
      max_parallel_workers_per_gather: 0,
      ...settings,
    },
    name,
  )
  const connections = createConnections(opening, max, hosts)
  const answerMs = statementTimeoutMs * ANSWER_PER_STATEMENT_TIMEOUT

  async function send<Rows>(statement: Statement<Rows>): Promise<Rows> {
    const values: Value[] = []
    const text = statement.write(values)
    const connection = await connections.take()
    try {
      if (statement.isGivenUp) throw new DatabaseUnreachable('the statement was given up')
      statement.isSent = true
      const ask = () => connection.ask(text, values, answerMs)
      return (await ask().catch((error: unknown) => {
        if (isOutdatedStatement(error)) return ask()
        throw error
      })) as Rows
    } finally {
      connection.giveBack()
    }
  }

  async function begin<T>(fn: (tx: Tx) => Promise<T>, mode = ''): Promise<T> {
    const connection = await connections.take()
    try {
      return await transact(connection, fn, { mode, answerMs })
    } finally {
      connection.giveBack()
    }
  }

  return Object.assign(createTemplate(send), {
    begin,
    end: ({ timeout = 60 } = {}) => connections.end(timeout),
    isHeard: connections.isHeard,
    isPooled: opening.isPooled,
  })
}

async function transact<T>(
  connection: Connection,
  fn: (tx: Tx) => Promise<T>,
  { mode, answerMs }: { mode: string; answerMs: number },
): Promise<T> {
  let waitMs = answerMs
  let failure: { readonly error: unknown } | null = null
  let isOver = false
  let last: Promise<unknown> = Promise.resolve()
  const ask = (text: string, values: Value[] = []) => connection.ask(text, values, waitMs)

  /** One after another, in the order in which they were sent. */
  function send<Rows>(statement: Statement<Rows>): Promise<Rows> {
    const values: Value[] = []
    const text = statement.write(values)
    const answer = last.then(() => {
      if (isOver) throw new Error('the transaction is over')
      return ask(text, values)
    })
    last = answer.catch((error: unknown) => {
      failure ??= { error }
    })
    return answer as Promise<unknown> as Promise<Rows>
  }
  const tx = Object.assign(createTemplate(send), {
    waitForAnswers: () => {
      waitMs = 0
    },
  })

  await ask(`begin ${mode}`)
  try {
    const result = await fn(tx)
    await last
    // PostgreSQL would roll back without a word.
    if (failure !== null) throw (failure as { error: unknown }).error
    isOver = true
    await ask('commit')
    return result
  } catch (error) {
    await last
    if (isOver) throw error
    isOver = true
    await ask('rollback')
    throw error
  }
}
