import { execFileSync } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createMachines, kill, type Machine, type Machines, postgresPrograms, whyNoMachines } from './machines.js'

/** PostgreSQL on three machines with synchronous replication; Patroni and etcd on each decide who is primary. */
export interface Cluster {
  readonly machines: Machines
  readonly folder: string
  /** For DATABASE_URL: all hosts, and the one that takes writes is wanted. */
  readonly url: string
  urlOf(machine: Machine): string
  /** The machine that is primary, as soon as all three are well and one standby is synchronous. */
  healthy(): Promise<Machine>
  killPrimary(machine: Machine): void
  remove(): Promise<void>
}

export const PASSWORD = 'only-for-this-test'
/** Seconds after which the lock of a primary that is not heard ends: the least that Patroni recommends. */
export const TTL_SECONDS = 20

/** What keeps a cluster from being made here, or null. */
export function whyNoCluster(): string | null {
  const missing = ['patroni', 'etcd', 'setpriv'].filter((program) => !isInstalled(program))
  if (postgresPrograms() === null) missing.push('PostgreSQL 15 or later')
  if (missing.length > 0) return `${missing.join(', ')} missing: on Debian, apt install patroni etcd-server postgresql`
  return whyNoMachines()
}

export function isInstalled(program: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

export async function startCluster(): Promise<Cluster> {
  const folder = await mkdtemp('/var/tmp/countersign-cluster-')
  await chmod(folder, 0o755)
  const machines = createMachines(3)
  for (const [at, machine] of machines.all.entries()) {
    const home = join(folder, machine.name)
    await mkdir(home, { mode: 0o700 })
    await writeFile(join(home, 'patroni.json'), JSON.stringify(patroniOf(machine, machines, home)))
    execFileSync('chown', ['-R', 'postgres:postgres', home])
    startLogged(machine, etcdOf(machine, machines, { home, at }), join(folder, `etcd-${machine.name}.log`))
  }
  for (const machine of machines.all) startPatroni(machine, folder)
  const urlOf = ({ address }: Machine) => `postgres://postgres:${PASSWORD}@${address}:5432/postgres`
  const hosts = machines.all.map(({ address }) => `${address}:5432`).join(',')
  return {
    machines,
    folder,
    url: `postgres://postgres:${PASSWORD}@${hosts}/postgres?target_session_attrs=read-write`,
    urlOf,
    healthy: () => untilHealthy(machines, folder),
    killPrimary: (machine) => {
      for (const pid of machine.pidsOf('postgres')) kill(pid)
    },
    remove: async () => {
      machines.remove()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function startLogged(machine: Machine, command: readonly string[], file: string): void {
  const log = createWriteStream(file, { flags: 'a' })
  const child = machine.run(command, { ETCD_UNSUPPORTED_ARCH: process.arch })
  child.stdout?.pipe(log, { end: false })
  child.stderr?.pipe(log, { end: false })
}

const startPatroni = (machine: Machine, folder: string) =>
  startLogged(machine, ['patroni', join(folder, machine.name, 'patroni.json')], join(folder, `${machine.name}.log`))

function etcdOf({ address }: Machine, machines: Machines, { home, at }: { home: string; at: number }): string[] {
  const peers = machines.all.map((other, index) => `e${index}=http://${other.address}:2380`).join(',')
  return [
    'etcd',
    ...['--name', `e${at}`, '--data-dir', join(home, 'etcd')],
    ...['--listen-peer-urls', `http://${address}:2380`, '--initial-advertise-peer-urls', `http://${address}:2380`],
    ...['--listen-client-urls', `http://${address}:2379`, '--advertise-client-urls', `http://${address}:2379`],
    ...['--initial-cluster', peers, '--initial-cluster-state', 'new'],
    '--enable-v2',
    // More patience than by default: three machines share the cores of one.
    ...['--heartbeat-interval', '300', '--election-timeout', '3000'],
  ]
}

function patroniOf({ name, address }: Machine, machines: Machines, home: string) {
  return {
    scope: 'countersign',
    name,
    restapi: { listen: `${address}:8008`, connect_address: `${address}:8008` },
    // The older API: with the newer one, Patroni 3.0.2 lets a primary that was away take its lock back from the next one, and
    // what that one acknowledged is lost. This test found it.
    etcd: { hosts: machines.all.map((other) => `${other.address}:2379`) },
    bootstrap: {
      dcs: {
        ttl: TTL_SECONDS,
        loop_wait: 2,
        retry_timeout: 5,
        // A primary that died is replaced, not waited for.
        primary_start_timeout: 0,
        synchronous_mode: true,
        // Without a standby nothing is acknowledged.
        synchronous_mode_strict: true,
        postgresql: {
          use_pg_rewind: true,
          parameters: { max_connections: 200, wal_keep_size: '256MB', wal_log_hints: 'on', shared_buffers: '128MB' },
        },
      },
      initdb: [{ encoding: 'UTF8' }, 'data-checksums'],
    },
    postgresql: {
      listen: `${address}:5432`,
      connect_address: `${address}:5432`,
      data_dir: join(home, 'data'),
      bin_dir: postgresPrograms(),
      authentication: {
        superuser: { username: 'postgres', password: PASSWORD },
        replication: { username: 'replicator', password: PASSWORD },
        rewind: { username: 'rewinder', password: PASSWORD },
      },
      pg_hba: ['local all all trust', 'host all all all scram-sha-256', 'host replication all all scram-sha-256'],
      parameters: { unix_socket_directories: home, password_encryption: 'scram-sha-256' },
    },
  }
}

interface Member {
  readonly name: string
  readonly role: string
  readonly state: string
  readonly lag?: number | string
}

/** After this long a standby that does not start is copied from the primary again, as its operator would have it done. */
const COPY_AGAIN_MS = 90_000

/** Every machine says the same: one that was away tells what it knew before, for a while. */
async function untilHealthy(machines: Machines, folder: string, withinMs = 300_000): Promise<Machine> {
  const began = Date.now()
  let copyAgainAt = began + COPY_AGAIN_MS
  let seen: (Member[] | null)[] = []
  while (Date.now() < began + withinMs) {
    seen = await Promise.all(machines.all.map(membersAt))
    if (Date.now() > copyAgainAt) {
      copyAgainAt = Date.now() + COPY_AGAIN_MS
      for (const machine of machines.all) if (doesNotStart(machine, seen)) await copyAgain(machine)
    }
    const leaders = new Set(seen.map((members) => leaderOf(members, machines.all.length)))
    const [leader] = leaders
    const primary = machines.all.find(({ name }) => name === leader)
    if (primary && leaders.size === 1) return primary
    await sleep(250)
  }
  throw new Error(`the cluster did not become healthy: ${JSON.stringify(seen)}; its logs are in ${folder}`)
}

const doesNotStart = ({ name }: Machine, seen: readonly (Member[] | null)[]) =>
  seen.every((members) => members?.find((member) => member.name === name)?.state === 'starting')

async function copyAgain({ name, address }: Machine): Promise<void> {
  const answer = await fetch(`http://${address}:8008/reinitialize`, { method: 'POST', body: '{"force":true}' })
  console.log(`${name} did not start, and is copied from the primary again: ${await answer.text()}`)
}

async function membersAt({ address }: Machine): Promise<Member[] | null> {
  try {
    const answer = await fetch(`http://${address}:8008/cluster`, { signal: AbortSignal.timeout(2_000) })
    return ((await answer.json()) as { members: Member[] }).members
  } catch {
    return null
  }
}

/** The primary, if all members are well and one standby is synchronous. */
function leaderOf(members: Member[] | null, count: number): string | null {
  if (members?.length !== count || !members.every(({ state }) => ['running', 'streaming'].includes(state))) return null
  if (!members.some(({ role, lag }) => role === 'sync_standby' && typeof lag === 'number')) return null
  return members.find(({ role }) => role === 'leader')?.name ?? null
}
