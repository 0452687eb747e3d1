import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/** A machine for a test: a network namespace with an address of its own, whose cable can be pulled. */
export interface Machine {
  readonly name: string
  readonly address: string
  /** Runs a program there, as the user of PostgreSQL. Ended with the machine. */
  run(command: readonly string[], env?: Record<string, string>): ChildProcess
  /** The processes there that have this name. */
  pidsOf(name: string): number[]
  /** Takes the machine off the network: nothing comes or goes, and nobody is told. */
  unplug(): void
  /** Takes away the other machines alone: whoever uses the service still reaches this one. */
  cutFromPeers(): void
  /** Undoes both. */
  plug(): void
}

export interface Machines {
  readonly all: readonly Machine[]
  /** The address of the side that is on no machine: of the instances of the service and of the test. */
  readonly outside: string
  remove(): void
}

const ip = (...args: string[]) => execFileSync('ip', args, { stdio: ['ignore', 'pipe', 'pipe'] }).toString()
const tryIp = (...args: string[]) => {
  try {
    ip(...args)
  } catch {
    // It is as wanted already.
  }
}

/** What keeps this computer from being several machines, or null. */
export function whyNoMachines(): string | null {
  if (process.platform !== 'linux') return 'network namespaces exist on Linux only'
  if (process.getuid?.() !== 0) return 'only root may make network namespaces'
  const name = `csprobe${process.pid}`
  try {
    ip('netns', 'add', name)
    ip('netns', 'delete', name)
    return null
  } catch (error) {
    return `network namespaces cannot be made: ${(error as Error).message.split('\n')[0]}`
  }
}

/** Connects machines by a bridge. */
export function createMachines(count: number, network = '10.213.77'): Machines {
  const bridge = `csbr${process.pid % 100_000}`
  ip('link', 'add', bridge, 'type', 'bridge')
  ip('address', 'add', `${network}.1/24`, 'dev', bridge)
  ip('link', 'set', bridge, 'up')
  const addresses = Array.from({ length: count }, (_, at) => `${network}.${at + 11}`)
  const all = addresses.map((address, at) => plugIn({ at, address, bridge, peers: addresses }))
  return {
    all,
    outside: `${network}.1`,
    remove: () => {
      for (const machine of all) machine.remove()
      tryIp('link', 'delete', bridge)
    },
  }
}

interface Place {
  readonly at: number
  readonly address: string
  readonly bridge: string
  readonly peers: readonly string[]
}

function plugIn({ at, address, bridge, peers }: Place): Machine & { remove(): void } {
  const name = `cs${process.pid}n${at + 1}`
  const cable = `csv${process.pid % 100_000}n${at + 1}`
  ip('netns', 'add', name)
  ip('link', 'add', cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name)
  ip('link', 'set', cable, 'master', bridge, 'up')
  ip('-n', name, 'address', 'add', `${address}/24`, 'dev', 'eth0')
  ip('-n', name, 'link', 'set', 'eth0', 'up')
  ip('-n', name, 'link', 'set', 'lo', 'up')
  const others = peers.filter((peer) => peer !== address)
  const pids = () => ip('netns', 'pids', name).split('\n').filter(Boolean).map(Number)
  return {
    name,
    address,
    run: (command, env = {}) =>
      spawn('ip', ['netns', 'exec', name, ...AS_POSTGRES, ...command], {
        env: { PATH: process.env.PATH, LANG: 'C.UTF-8', ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    pidsOf: (wanted) => pids().filter((pid) => nameOf(pid) === wanted),
    unplug: () => ip('link', 'set', cable, 'down'),
    cutFromPeers: () => {
      for (const peer of others) ip('-n', name, 'route', 'add', 'blackhole', peer)
    },
    plug: () => {
      for (const peer of others) tryIp('-n', name, 'route', 'delete', 'blackhole', peer)
      ip('link', 'set', cable, 'up')
    },
    remove: () => {
      for (const pid of pids()) kill(pid)
      tryIp('netns', 'delete', name)
      tryIp('link', 'delete', cable)
    },
  }
}

/** PostgreSQL does not run as root. */
const AS_POSTGRES = ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups']

function nameOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
  } catch {
    return ''
  }
}

export function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

/** The newest folder of PostgreSQL's programs, as Debian lays them out, or null. */
export function postgresPrograms(): string | null {
  try {
    const newest = readdirSync('/usr/lib/postgresql')
      .map(Number)
      .sort((a, b) => b - a)[0]
    return newest === undefined || newest < 15 ? null : `/usr/lib/postgresql/${newest}/bin`
  } catch {
    return null
  }
}
