import { readConfig } from '../../../packages/server/src/base/config.js'
import { connect } from '../../../packages/server/src/postgres/connect.js'
import { distribute } from '../../../packages/server/src/process/operator.js'

/** The coordinator of a Citus to test on, where somebody has built one. No database that is there is touched. */
export const CITUS_URL = process.env.COUNTERSIGN_TEST_CITUS_URL

export const NO_CITUS =
  'no Citus to test on: name a coordinator with workers, and a superuser, in COUNTERSIGN_TEST_CITUS_URL (docs/guides/outgrow.md says how to build one)'

export const TEMPLATE = 'template_countersign'

export const inDatabase = (url: string, name: string): string => url.replace(/[^/]*$/, name)

/** The machines that hold rows, and the coordinator first; each as the tests reach it. */
export async function machinesOf(url: string): Promise<string[]> {
  const sql = connect({ url }, { max: 1 })
  try {
    const nodes = await sql<{ host: string; port: number }[]>`
      select nodename as host, nodeport as port from pg_dist_node where noderole = 'primary' and groupid > 0 order by groupid`
    return [url, ...nodes.map(({ host, port }) => Object.assign(new URL(url), { hostname: host, port }).href)]
  } finally {
    await sql.end()
  }
}

/** One statement on each machine: Citus leaves databases to whoever makes them. */
export async function onMachines(machines: readonly string[], text: string, database = 'postgres'): Promise<void> {
  for (const url of machines) {
    const sql = connect({ url: inDatabase(url, database), statementTimeoutMs: 60_000 }, { max: 1 })
    try {
      await sql.unsafe(text)
    } finally {
      await sql.end()
    }
  }
}

/** An empty database in which Citus knows its workers, by other addresses where it is to reach them `through` those. */
export async function createCitusDatabase(
  machines: readonly string[],
  name: string,
  through: readonly string[] = machines,
): Promise<string> {
  await onMachines(machines, `create database ${name}`)
  await onMachines(machines, 'create extension citus', name)
  const [coordinator = '', ...workers] = through
  const { hostname, port } = new URL(coordinator)
  const [first] = machines
  await onMachines([first ?? ''], `select citus_set_coordinator_host('${hostname}', ${port})`, name)
  for (const worker of workers) {
    const at = new URL(worker)
    await onMachines([first ?? ''], `select citus_add_node('${at.hostname}', ${at.port})`, name)
  }
  return inDatabase(coordinator, name)
}

/** The divided database that others are cloned from. It takes no connections: Citus would keep one to it. */
export async function createDividedTemplate(machines: readonly string[]): Promise<void> {
  await dropDatabase(machines, TEMPLATE)
  const url = await createCitusDatabase(machines, TEMPLATE)
  await distribute(readConfig({ DATABASE_URL: url }), () => {})
  for (const machine of machines) {
    await onMachines([machine], `alter database ${TEMPLATE} allow_connections false`)
    await onMachines(
      [machine],
      `select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = '${TEMPLATE}'`,
    )
  }
}

export const dropDatabase = (machines: readonly string[], name: string): Promise<void> =>
  onMachines(machines, `drop database if exists ${name} with (force)`)
