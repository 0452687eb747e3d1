import { afterAll, describe, expect, test } from 'vitest'
import { connect } from '../../../packages/server/src/postgres/connect.js'
import { acrossTenants } from '../../../packages/server/src/store/across-tenants.js'
import { proves } from '../../support/proves.js'
import { openSession, succeeded } from '../../support/runtime/governed-session.js'
import { Person } from '../../support/runtime/person.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'
import { lintFunction, type StoredFunction } from '../../support/statements/lint-function.js'
import { lintStatement } from '../../support/statements/lint-statement.js'
import { ownersOf } from '../../support/statements/owners.js'
import { wrongStatements } from '../../support/statements/watch-statements.js'

const { runtime, api } = await withRuntime()
const sql = connect({ url: runtime.databaseUrl }, { max: 1 })
afterAll(() => sql.end({ timeout: 5 }))

const owners = new Map([
  ['sessions', 'tenant_id'],
  ['session_heads', 'tenant_id'],
  ['buckets', 'owner'],
])
const across = new Map<string, { writes?: true }>([
  ['look', {}],
  ['count', { writes: true }],
])
const lint = (text: string) => lintStatement(text, { owners, across })

// Every other test of the service reads its statements, too (`watch-statements.ts`).
proves('scale.names-tenant', 'what signing up, a turn, a kill and the pages send', async () => {
  const person = new Person(runtime.fetch)
  await person.signup()
  const session = await openSession(api)
  const { decisions } = await session.decide([{ name: 'lookup_order', args: { order_id: 'A-1' } }])
  await session.receipts(succeeded(decisions))
  await api.killSession({ params: { session_id: session.sessionId }, body: {} })
  for (const route of ['listCalls', 'listSessions', 'loadOverview', 'listAgents', 'listKeys'] as const)
    expect((await person.call(route)).status, route).toBe(200)
  expect(await wrongStatements()).toEqual([])
})

proves('scale.names-tenant', 'the functions of the database', async () => {
  const functions = await sql<StoredFunction[]>`
    select p.proname as name, l.lanname as language, pg_get_functiondef(p.oid) as definition, p.prosrc as source,
      coalesce(p.proargnames, '{}') as arguments, p.proretset as returns_set, t.typtype = 'c' or p.prorettype = 'record'::regtype as returns_row
    from pg_proc p join pg_language l on l.oid = p.prolang join pg_type t on t.oid = p.prorettype
    where p.pronamespace = 'public'::regnamespace and p.prokind = 'f'`
  const real = { owners: new Map(Object.entries(await ownersOf(sql))), across: acrossTenants }
  expect((await Promise.all(functions.map((fn) => lintFunction(fn, real)))).flat()).toEqual([])
})

describe('the reader of statements', () => {
  test.each([
    ['select * from sessions where session_id = $1', 'sessions is not compared with the tenant'],
    ['select 1 from sessions where tenant_id = $1 or true', 'sessions is not compared with the tenant'],
    ["select 1 from sessions where tenant_id = 'mine'", 'sessions is not compared with the tenant'],
    [
      'select 1 from sessions s where s.tenant_id = $1 and exists (select from session_heads h where h.tenant_id = s.tenant_id)',
      'session_heads is not compared with the tenant',
    ],
    [
      'select 1 from sessions s join session_heads h on h.session_id = s.session_id where s.tenant_id = $1',
      'session_heads is not compared with the tenant',
    ],
    ['delete from sessions s using session_heads h where h.tenant_id = $1', 'sessions is not compared with the tenant'],
    [
      "insert into sessions (tenant_id, session_id) values ('mine', $1)",
      'a new row of sessions does not have the tenant',
    ],
    ['insert into buckets (bucket) select $1', 'a new row of buckets does not have the tenant'],
    ['/* across tenants: anything */ select 1', '"anything" is not in the list of what looks across tenants'],
    ['/* across tenants: look */ delete from sessions', 'changes rows of more than one tenant'],
    ['/* across tenants: look */ select 1 from sessions for update', 'locks rows of more than one tenant'],
    ['/* across tenants: count */ delete from sessions where ctid = $1', 'uses ctid'],
    ['update sessions set at = clock_timestamp() where tenant_id = $1', 'changes rows by a volatile function'],
    [
      "delete from sessions where tenant_id = $1 returning set_config('a', 'b', true)",
      'changes rows by a volatile function',
    ],
    ['update sessions set at = coalesce(at, now()) where tenant_id = $1', 'the time is in a CASE or COALESCE'],
    ['insert into sessions (tenant_id, a) values ($1, (select 1))', 'a subselect is in VALUES'],
    [
      'insert into sessions (tenant_id) values ($1) on conflict (tenant_id) do update set at = now()',
      'ON CONFLICT has a function that is not immutable',
    ],
    [
      'insert into sessions (tenant_id) values ($1) on conflict (tenant_id) do update set a = (select 1)',
      'ON CONFLICT has a subselect',
    ],
  ])('%s', async (text, problem) => expect(await lint(text)).toEqual([problem]))

  test.each([
    'select 1 from sessions s join session_heads h using (tenant_id, session_id) where s.tenant_id = $1::text',
    'with mine as (select * from sessions where tenant_id = $1) select 1 from mine where exists (select from jobs)',
    'insert into sessions (tenant_id, at) values ($1, clock_timestamp())',
    'insert into session_heads (tenant_id) select s.tenant_id from sessions s where s.tenant_id = $1',
    '/* across tenants: count */ insert into sessions (tenant_id) select tenant_id from session_heads',
  ])('%s', async (text) => expect(await lint(text)).toEqual([]))

  test('a function that does not begin with its tenant, returns rows, or asks for another tenant', async () => {
    const written = { language: 'plpgsql', returnsSet: false, returnsRow: false }
    const of = (source: string) =>
      `create function f(p_tenant text, p_id text) returns int language plpgsql as $$ ${source} $$`
    const wrong = await lintFunction(
      {
        ...written,
        name: 'f',
        source: '',
        arguments: ['p_tenant', 'p_id'],
        definition: of(`declare v int; begin
          if exists (select from sessions where tenant_id = p_id) then return 1; end if;
          v := (select count(*) from session_heads);
          perform 1 from sessions where tenant_id = p_tenant;
          return v; end`),
      },
      { owners, across },
    )
    expect(wrong).toEqual([
      'f: sessions is not compared with the tenant',
      'f: session_heads is not compared with the tenant',
    ])
    const shape = await lintFunction(
      {
        ...written,
        name: 'g',
        language: 'sql',
        source: 'select 1',
        arguments: ['p_id'],
        definition: '',
        returnsSet: true,
      },
      { owners, across },
    )
    expect(shape).toEqual(['g: its first argument is not the tenant', 'g: its result is not one value'])
  })
})
