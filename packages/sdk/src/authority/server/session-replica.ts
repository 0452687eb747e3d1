import type { SessionState } from '@countersign/engine'
import type { DecidedBy } from '../authority.js'
import { createLocalSession, type LocalSession, type LocalSessionOptions } from '../local/local-session.js'
import type { ClientStateHolder } from './client-state.js'
import type { Opened, ServerSession } from './server-session.js'

/**
 * The server's session as this process knows it, maintained by the same engine: a mirror for snapshots, and while the
 * server is away a fork of it, which decides and is dropped when the server is back.
 */
export interface SessionReplica {
  /** The fork while there is one, else the mirror. */
  current(): LocalSession
  /** Decisions of the server are hashed with its salt, those made here with that of the fork. */
  saltOf(by: DecidedBy): string
  /** A change that takes effect here at once, whoever decides. */
  change(apply: (session: LocalSession) => void): void
  /** Repeats on the mirror what the server did. Where that fails, the replica is behind. */
  follow(repeat: (mirror: LocalSession) => void): void
  /** A new mirror, of a session that the server has just opened. */
  begin(opened: Pick<Opened, 'salt' | 'startedAt' | 'fresh'>): LocalSession
  /** Takes over the state as the server stores it. */
  adopt(state: SessionState): void
  /** The fork, which decides from now on until the server does. */
  fork(): LocalSession
  /** For a turn that was prepared here: the fork, or a passing one when the server is back meanwhile. */
  forkOrPassing(): LocalSession
  /** The fork; null where the server decides. */
  forked(): LocalSession | null
  dropFork(): void
}

export interface ReplicaOptions {
  readonly local: LocalSessionOptions
  readonly server: Pick<ServerSession, 'known'>
  readonly client: ClientStateHolder
  /** What the fork decides is only reported. */
  readonly advises: boolean
}

export function createSessionReplica({ local, server, client, advises }: ReplicaOptions): SessionReplica {
  let mirror = createLocalSession(local)
  let fork: LocalSession | null = null
  const forked = (): LocalSession => mirror.fork({ watches: local.watches || advises })
  return {
    current: () => fork ?? mirror,
    saltOf: (by) => (by === 'server' ? mirror : (fork ?? mirror)).salt,
    change(apply) {
      apply(mirror)
      if (fork !== null) apply(fork)
    },
    follow(repeat) {
      try {
        repeat(mirror)
        if (mirror.state().stateVersion !== server.known().stateVersion) client.move('replica_diverged')
      } catch {
        client.move('replica_diverged')
      }
    },
    begin({ salt, startedAt, fresh }) {
      mirror = createLocalSession({ ...local, identity: { ...local.identity, salt } })
      mirror.restore({ ...mirror.state(), startedAt })
      client.move(fresh ? 'opened_fresh' : 'opened_with_history')
      return mirror
    },
    adopt(state) {
      mirror.restore(state)
      client.move('replica_caught_up')
    },
    fork() {
      client.move('decided_here')
      fork ??= forked()
      return fork
    },
    forkOrPassing: () => fork ?? forked(),
    forked: () => fork,
    dropFork() {
      fork = null
    },
  }
}
