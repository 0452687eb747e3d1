import { setTimeout as sleep } from 'node:timers/promises'
import type { DatabaseHost } from '../base/database-address.js'
import { DatabaseUnreachable } from './gave-up.js'
import type { HostProbe, Standing } from './host-probe.js'

/** Knows which of several hosts takes writes, as long as anybody is connected or wants to be (decision 0004). */
export interface PrimaryWatch {
  /** The host to connect to. Throws at once while it is known that none takes writes. */
  choose(): Promise<DatabaseHost>
}

/** What the watch must know of the connections, and tell them. */
export interface Watched {
  /** A connection is open. */
  readonly inUse: () => boolean
  /** How many answers came over connections to the host. */
  readonly answersOf: (host: DatabaseHost) => number
  /** Connections to any other host are worthless from now on; null: to every host. */
  readonly changed: (primary: DatabaseHost | null) => void
}

export interface PrimaryWatchParts {
  readonly hosts: readonly DatabaseHost[]
  readonly probe: (host: DatabaseHost) => HostProbe
  readonly watched: Watched
  readonly everyMs?: number
}

/** None of the hosts takes writes, as of now. For the caller an outage like any other: 503 `UNAVAILABLE`. */
export class NoPrimary extends DatabaseUnreachable {
  override name = 'NoPrimary'
}

type Report = Standing | { readonly problem: string }

export function createPrimaryWatch({ hosts, probe, watched, everyMs = 500 }: PrimaryWatchParts): PrimaryWatch {
  const reports = new Map<DatabaseHost, Report>()
  const waiting = new Set<() => void>()
  let current: DatabaseHost | null = null
  /** The highest timeline ever seen. A host with a lower one was replaced, whatever it says. */
  let newest = 0
  /** Of watching: it ends with the last connection, and a new one begins with the next connection. */
  let round: object | null = null

  const timelineOf = (host: DatabaseHost): number => {
    const report = reports.get(host)
    return report !== undefined && 'isWritable' in report && report.isWritable ? report.timeline : Number.NaN
  }

  const elect = (): DatabaseHost | null => {
    const able = hosts.filter((host) => timelineOf(host) >= newest)
    return able.includes(current as DatabaseHost) ? current : (able[0] ?? null)
  }

  const note = (host: DatabaseHost, report: Report) => {
    reports.set(host, report)
    const timeline = timelineOf(host)
    if (timeline > newest) newest = timeline
    const elected = elect()
    if (elected !== current) {
      current = elected
      watched.changed(elected)
    }
    if (current !== null || reports.size === hosts.length) for (const done of waiting) done()
  }

  const watch = async (host: DatabaseHost, mine: object) => {
    const asked = probe(host)
    while (round === mine) {
      const before = watched.answersOf(host)
      const report = await asked.ask().catch((error: unknown) => ({ problem: problemOf(error) }))
      const isBusy = 'problem' in report && host === current && watched.answersOf(host) > before
      // One that answers others is not gone: dropping their connections would make it worse.
      if (round === mine && !isBusy) note(host, report)
      await sleep(everyMs)
      if (round === mine && waiting.size === 0 && !watched.inUse()) round = null
    }
    asked.close()
  }

  /** Returns when a host was found, or all have answered. */
  const firstReports = async () => {
    let done = () => {}
    const reported = new Promise<void>((resolve) => {
      done = resolve
    })
    waiting.add(done)
    if (round === null) {
      const mine = {}
      round = mine
      current = null
      reports.clear()
      for (const host of hosts) void watch(host, mine)
    }
    await reported
    waiting.delete(done)
  }

  const noPrimary = () => {
    const found = hosts.map((host) => `${host.host}:${host.port} ${describe(reports.get(host), newest)}`)
    return new NoPrimary(`none of the hosts in DATABASE_URL takes writes: ${found.join(', ')}`)
  }

  return {
    choose: async () => {
      if (round === null || (current === null && reports.size < hosts.length)) await firstReports()
      if (current === null) throw noPrimary()
      return current
    },
  }
}

function describe(report: Report | undefined, newest: number): string {
  if (report === undefined) return 'has not answered yet'
  if ('problem' in report) return `cannot be asked (${report.problem})`
  if (!report.isWritable) return 'is a standby or read-only'
  return `was replaced (timeline ${report.timeline}, and ${newest} was seen)`
}

function problemOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return code !== '' ? code : error instanceof Error ? error.message : String(error)
}
