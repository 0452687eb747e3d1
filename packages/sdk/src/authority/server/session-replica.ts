import type { SessionState } from '@countersign/engine'
import type { DecidedBy } from '../authority.js'
import { createLocalSession, type LocalSession, type LocalSessionOptions } from '../local/local-session.js'
import type { Opened, ServerSession } from './server-session.js'

/**
 * The server's session as this process knows it, kept by the same engine: a mirror for snapshots, and for the time
 * without a server a fork of it, which decides and is dropped when the server is back.
 */
export interface SessionReplica {
  /** The fork while there is one, else the mirror. */
  current(): LocalSession
  /** Decisions of the server are hashed with its salt, those made here with that of the fork. */
  saltOf(by: DecidedBy): string
  /** Something that holds here at once, whoever decides. */
  change(apply: (session: LocalSession) => void): void
  /** Repeats on the mirror what the server did. Where that fails, the mirror is no longer exact. */
  follow(repeat: (mirror: LocalSession) => void): void
  /** The server may know more than the mirror: it must be asked before the mirror is trusted. */
  doubt(): void
  isExact(): boolean
  /** A new mirror, of a session that the server has just opened. */
  begin(opened: Pick<Opened, 'salt' | 'startedAt' | 'fresh'>): LocalSession
  /** Takes over the state as the server keeps it. */
  adopt(state: SessionState): void
  fork(): LocalSession
  /** For a turn that was prepared here: the fork, or a passing one when the server is back meanwhile. */
  forkOrPassing(): LocalSession
  isForked(): boolean
  dropFork(): void
}

export function createSessionReplica(
  options: LocalSessionOptions,
  server: Pick<ServerSession, 'known'>,
): SessionReplica {
  let mirror = createLocalSession(options)
  let isExact = true
  let fork: LocalSession | null = null
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
        if (mirror.state().stateVersion !== server.known().stateVersion) isExact = false
      } catch {
        isExact = false
      }
    },
    doubt() {
      isExact = false
    },
    isExact: () => isExact,
    begin({ salt, startedAt, fresh }) {
      mirror = createLocalSession({ ...options, identity: { ...options.identity, salt } })
      mirror.restore({ ...mirror.state(), startedAt })
      isExact = fresh
      return mirror
    },
    adopt(state) {
      mirror.restore(state)
      isExact = true
    },
    fork() {
      fork ??= mirror.fork()
      return fork
    },
    forkOrPassing: () => fork ?? mirror.fork(),
    isForked: () => fork !== null,
    dropFork() {
      fork = null
    },
  }
}
