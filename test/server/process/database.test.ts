import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../../packages/server/src/postgres/connect.js'
import { createDatabase, type Database, within } from '../../../packages/server/src/postgres/database.js'
import { databaseTrouble } from '../../../packages/server/src/postgres/database-error.js'
import { DatabaseBusy, DatabaseUnreachable } from '../../../packages/server/src/postgres/gave-up.js'
import type { Tx } from '../../../packages/server/src/postgres/sql.js'
import { createTestDatabase, type TestDatabase } from '../../support/postgres/database.js'
import { startTcpProxy } from '../../support/postgres/tcp-proxy.js'
import { proves } from '../../support/proves.js'

let database: TestDatabase
let store: Database
beforeAll(async () => {
  database = await createTestDatabase()
  store = createDatabase({ url: database.url, poolSize: 8, lockTimeoutMs: 300 })
  await store.sql`create table doc (id int primary key, body json, "snake_case" int)`
  await store.sql`insert into doc values (1, '{}', 7)`
})
afterAll(async () => {
  await store.close()
  await database.drop()
})

const settled = (promise: Promise<unknown>) =>
  promise.then(
    () => 'done',
    (error) => databaseTrouble(error) ?? error,
  )

test('columns are renamed, keys inside json are not', async () => {
  await store.sql`update doc set body = ${JSON.stringify({ snake_key: { inner_key: 1 } })} where id = 1`
  expect(await store.sql`select body, snake_case from doc`).toEqual([
    { body: { snake_key: { inner_key: 1 } }, snakeCase: 7 },
  ])
})

test('no column is jsonb, which would write numbers and keys in its own way', async () => {
  const types = await store.sql`
    select distinct data_type from information_schema.columns
    where table_schema = 'public' and data_type like 'json%' and table_name <> 'doc'`
  expect([...types]).toEqual([{ dataType: 'json' }])
})

test('bigint is read as a number, and one beyond 2^53 is refused', async () => {
  expect(await store.sql`select 9007199254740991::bigint as n`).toEqual([{ n: Number.MAX_SAFE_INTEGER }])
  await expect(store.sql`select 9007199254740993::bigint as n`.execute()).rejects.toThrow(/beyond 2\^53/)
})

test('arrays of text come back as they went', async () => {
  const odd = ['', 'NULL', 'null', 'a,b', '{x}', '"quoted"', 'back\\slash\\', 'line\nbreak', ' spaces ', 'ünï😀']
  for (const items of [[], ['one'], odd]) {
    expect(await store.sql`select ${items}::text[] as items`).toEqual([{ items }])
  }
  expect(await store.sql`select array['a', null, 'b c'] as items`).toEqual([{ items: ['a', null, 'b c'] }])
})

proves('fault.failed-among-rows', async () => {
  const pool = connect({ url: database.url, statementTimeoutMs: 300 }, { max: 1 })
  for (const failing of [
    pool`select repeat('x', 1000) as t, pg_sleep(case when g = 30 then 20 else 0 end)::text from generate_series(1, 40) g`,
    pool`select repeat('x', 10000) as t, 1 / (30 - g) from generate_series(1, 40) g`,
    pool`select 9007199254740900 + g as n from generate_series(1, 200) g`,
  ]) {
    await expect(Promise.resolve(failing)).rejects.toThrow()
    const rows = await pool`select g from generate_series(1, 3) g`
    expect([...rows]).toEqual([{ g: 1 }, { g: 2 }, { g: 3 }])
  }
  await pool.end()
})

test('a failed transaction leaves nothing behind', async () => {
  const failing = store.transaction('a', async (tx) => {
    await tx`update doc set snake_case = 99`
    throw new Error('no')
  })
  await expect(failing).rejects.toThrow('no')
  expect(await store.sql`select snake_case from doc`).toEqual([{ snakeCase: 7 }])
})

/** Something that happens when the test says so. */
function event() {
  let happen = () => {}
  const happened = new Promise<void>((done) => (happen = done))
  return { happen, happened }
}

test('a row lock that does not come in time is busy; with more patience it comes', async () => {
  const held = event()
  const over = event()
  const holding = store.transaction('a', async (tx) => {
    await tx`select 1 from doc where id = 1 for update`
    held.happen()
    await over.happened
  })
  await held.happened
  const lock = (lockTimeoutMs?: number) =>
    settled(
      store.transaction(
        'b',
        (tx) => tx`select 1 from doc for update`,
        lockTimeoutMs === undefined ? {} : { lockTimeoutMs },
      ),
    )
  const patient = lock(60_000)
  expect(await lock()).toBe('busy')
  over.happen()
  expect(await patient).toBe('done')
  await holding
})

proves(
  'limit.fair.begin',
  'whoever sends many requests at once has half of the connections that let them in',
  async () => {
    const over = event()
    const crowd = Array.from({ length: 20 }, () =>
      store.enter('crowd', async (sql) => {
        await sql`select 1`
        await over.happened
      }),
    )
    await store.enter('other', (sql) => sql`select 1`)
    over.happen()
    await Promise.all(crowd)
  },
)

test('fifty writers of one tenant on one row do not keep another tenant from working', async () => {
  const crowded = createDatabase({ url: database.url, poolSize: 8, lockTimeoutMs: 20_000 })
  const held = event()
  const over = event()
  const holder = crowded.transaction('crowd', async (tx) => {
    await tx`select 1 from doc where id = 1 for update`
    held.happen()
    await over.happened
  })
  await held.happened
  let through = 0
  const crowd = Array.from({ length: 50 }, async () => {
    await crowded.transaction('crowd', (tx) => tx`select 1 from doc for update`)
    through += 1
  })
  expect(crowded.load()).toMatchObject({ size: 5, active: 3 })
  await crowded.transaction('other', (tx) => tx`insert into doc values (2, '{}', 1)`)
  await crowded.single('other', (sql) => sql`delete from doc where id = 2`)
  await crowded.sql`select 1`
  // The other tenant is done while the whole crowd still waits.
  expect(through).toBe(0)
  over.happen()
  await Promise.all([holder, ...crowd])
  expect(crowded.load()).toMatchObject({ active: 0, waiting: 0 })
  await crowded.close()
})

test('a statement that gets no connection since others have them all is busy', async () => {
  const sql = connect({ url: database.url }, { max: 1 })
  try {
    await sql`select 1`
    const slow = sql`select pg_sleep(2)`.execute()
    await sleep(20)
    expect(await settled(within(100, sql, sql`select 1`))).toBe('busy')
    expect(await settled(within(60_000, sql, sql`select 1`))).toBe('done')
    await slow
  } finally {
    await sql.end()
  }
})

test('a statement that PostgreSQL does not answer in time is unavailable, and the pool goes on', async () => {
  const sql = connect({ url: database.url }, { max: 1 })
  try {
    await sql`select 1`
    expect(await settled(within(100, sql, sql`select pg_sleep(2)`))).toBe('unavailable')
    expect(await settled(within(60_000, sql, sql`select 1`))).toBe('done')
  } finally {
    await sql.end()
  }
})

test('connections that the network swallowed are broken and made anew, for every kind of work', async () => {
  const proxy = await startTcpProxy(database.url)
  const far = createDatabase({ url: proxy.url, poolSize: 8, statementTimeoutMs: 600 })
  const read = (ms = 10_000) => settled(within(ms, far.sql, far.sql`select 1`))
  const write = () => settled(far.single('a', (sql) => sql`select 1`.execute()))
  const transact = () => settled(far.transaction('a', (tx) => tx`select 1`))
  try {
    expect(await Promise.all([read(), write(), transact()])).toEqual(['done', 'done', 'done'])
    proxy.swallow()
    const hanging = [write(), transact()]
    expect(await read(200)).toBe('unavailable')
    expect(await Promise.all(hanging)).toEqual(['unavailable', 'unavailable'])
    expect(await Promise.all([read(), write(), transact()])).toEqual(['done', 'done', 'done'])
    expect(far.load()).toMatchObject({ active: 0, waiting: 0 })
  } finally {
    await proxy.close()
    await sleep(50)
    await far.close()
  }
})

/** What a transaction does when its connection breaks, and after that. */
const BREAKING: Record<string, (tx: Tx, cut: () => Promise<void>) => Promise<unknown>> = {
  'in a statement': async (tx, cut) => {
    const running = tx`select pg_sleep(5)`.execute()
    await Promise.all([running, cut()])
  },
  'between statements': async (tx, cut) => {
    await cut()
    await sleep(200)
    await tx`select 2`
  },
  'before it fails by itself': async (_tx, cut) => {
    await cut()
    await sleep(200)
    throw new Error('of its own')
  },
}
test.each(Object.entries(BREAKING))('a connection that breaks %s of a transaction ends only that', async (_, run) => {
  const proxy = await startTcpProxy(database.url)
  const far = createDatabase({ url: proxy.url, poolSize: 4 })
  try {
    const broken = far.transaction('a', async (tx) => {
      await tx`select 1`
      await run(tx, proxy.cut)
    })
    expect(await settled(broken)).toBe('unavailable')
    await sleep(100)
    await proxy.heal()
    // Connections that broke may need some attempts.
    const works = async () => {
      const all = Array.from({ length: 3 }, (_, at) => settled(far.transaction(`t${at}`, (tx) => tx`select 1`)))
      return (await Promise.all(all)).every((outcome) => outcome === 'done')
    }
    await expect.poll(works).toBe(true)
    expect(far.load()).toMatchObject({ active: 0, waiting: 0 })
  } finally {
    await proxy.close()
    await sleep(50)
    await far.close()
  }
})

/** How a PostgreSQL can be away: what becomes of a connection. */
const AWAY: Record<string, (socket: Socket) => void> = {
  'takes connections and drops them': (socket) => socket.end(),
  'breaks connections': (socket) => socket.resetAndDestroy(),
  'takes connections and never speaks': () => {},
}
test.each(Object.entries(AWAY))('a PostgreSQL that %s is unavailable, for every kind of work', async (_, treat) => {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}))
    socket.resume()
    treat(socket)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const url = `postgres://nobody@127.0.0.1:${(server.address() as AddressInfo).port}/nothing`
  const away = createDatabase({ url, poolSize: 8, lockTimeoutMs: 200 })
  const query = () => within(300, away.sql, away.sql`select 1`)
  let writes: Promise<unknown>[] = []
  try {
    // More than there are connections, so that some only ever wait.
    const reads = Array.from({ length: 20 }, () => settled(query()))
    expect(new Set(await Promise.all(reads))).toEqual(new Set(['unavailable']))
    writes = Array.from({ length: 20 }, (_, at) =>
      settled(away.single(`tenant ${at}`, (sql) => sql`select 1`.execute())),
    )
    // The last ones get no turn while the first hang.
    expect(await Promise.all(writes.slice(-5))).toEqual(Array(5).fill('unavailable'))
  } finally {
    const closed = new Promise((done) => server.close(done))
    for (const socket of sockets) socket.destroy()
    await closed
    await Promise.all(writes)
    await away.close()
  }
})

const BAD_DATA: readonly [string, () => Promise<unknown>][] = [
  ['NUL in text', () => store.sql`select ${'a\u0000b'}::text`.execute()],
  ['NUL in JSON', () => store.sql`select ${JSON.stringify({ a: '\u0000' })}::jsonb`.execute()],
  ['text for a number', () => store.sql`select ${'x'}::text::int`.execute()],
  ['a number out of range', () => store.sql`select 99999999999::bigint::int`.execute()],
]

test.each(BAD_DATA)('%s is the caller\u2019s fault, not ours', async (_what, run) => {
  expect(await settled(run())).toBe('invalid_data')
})

const pgError = (code: string) => Object.assign(new pg.DatabaseError(code, 0, 'error'), { code })
const socketError = (code: string, syscall: string) => Object.assign(new Error(code), { code, syscall })

test.each([
  ['57P01', 'unavailable'],
  ['57P03', 'unavailable'],
  ['53300', 'unavailable'],
  ['53100', 'unavailable'],
  ['08006', 'unavailable'],
  ['25006', 'unavailable'],
  ['3D000', 'unavailable'],
  ['28P01', 'unavailable'],
  ['55P03', 'busy'],
  ['57014', 'busy'],
  ['40P01', 'busy'],
  ['40001', 'busy'],
  ['42P01', 'unavailable'],
  ['42703', 'unavailable'],
  ['23505', null],
  ['42601', null],
])('SQLSTATE %s means %s', (code, trouble) => {
  expect(databaseTrouble(pgError(code))).toBe(trouble)
})

test('sockets that fail mean unavailable; a file that is missing does not; a full gate means busy', () => {
  expect(databaseTrouble(socketError('ECONNREFUSED', 'connect'))).toBe('unavailable')
  expect(databaseTrouble(new AggregateError([socketError('ECONNREFUSED', 'connect')]))).toBe('unavailable')
  expect(databaseTrouble(socketError('ENOENT', 'open'))).toBeNull()
  expect(databaseTrouble(new DatabaseBusy(1))).toBe('busy')
  expect(databaseTrouble(new DatabaseUnreachable('away'))).toBe('unavailable')
  expect(databaseTrouble(new Error('x'))).toBeNull()
})
