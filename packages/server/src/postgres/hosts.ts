import { type DatabaseHost, hostsOf, needsPrimary } from '../base/database-address.js'
import { createHostProbe } from './host-probe.js'
import { createPrimaryWatch, type Watched } from './primary-watch.js'

/** The hosts of a database URL. Pools that use the same ones share what is known of them. */
export interface Hosts {
  /** Where to connect to: the host that takes writes. Throws while there is none. */
  readonly choose: () => Promise<DatabaseHost>
  readonly pools: Set<Watched>
}

export function createHosts(url: string): Hosts {
  const hosts = hostsOf(url)
  const [only] = hosts
  const pools = new Set<Watched>()
  const all: Watched = {
    inUse: () => [...pools].some((pool) => pool.inUse()),
    answersOf: (host) => [...pools].reduce((sum, pool) => sum + pool.answersOf(host), 0),
    changed: (primary) => {
      for (const pool of pools) pool.changed(primary)
    },
  }
  if (!needsPrimary(url) && only !== undefined) return { choose: async () => only, pools }
  const watch = createPrimaryWatch({ hosts, probe: (host) => createHostProbe(url, host), watched: all })
  return { choose: watch.choose, pools }
}
