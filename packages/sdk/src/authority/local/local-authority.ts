import { createIds } from '../../base/create-ids.js'
import { messageOf } from '../../base/diagnostics.js'
import { ReplayConfigError, ReplayContractError, ReplayKillError, ReplayUnavailableError } from '../../base/errors.js'
import type { SessionStore, StoredSession } from '../../options/session-store.js'
import type { Authority, KillCause, PreflightRequest, PreflightResult } from '../authority.js'
import { confirmIfOld } from '../confirm-if-old.js'
import { createLocalSession, type LocalSessionOptions } from './local-session.js'

export interface LocalAuthorityOptions {
  readonly local: LocalSessionOptions
  readonly store: SessionStore | undefined
  readonly onKilled: (cause: KillCause) => void
}

/** The engine in this process decides. The state lives in memory, or in the program's store. */
export function createLocalAuthority({ local, store, onKilled }: LocalAuthorityOptions): Authority {
  const { plan } = local
  const { sessionId } = local.identity
  const newId = createIds()
  let session = createLocalSession(local)
  let version = 0
  let started: Promise<void> | null = store === undefined ? Promise.resolve() : null
  let saving: Promise<void> = Promise.resolve()

  function take(stored: StoredSession): void {
    if (stored.compiled_hash !== plan.hash) {
      throw new ReplayConfigError(
        `session ${sessionId} was stored with different contracts, and the rules of a session never change: use another sessionId`,
        'compilation_failed',
      )
    }
    session = createLocalSession({ ...local, identity: { ...local.identity, salt: stored.hash_salt } }, stored.state)
    version = stored.version
  }

  /** Takes a state over without losing what cannot be undone: labels, and a kill. */
  function adopt(stored: StoredSession): void {
    const before = session.state()
    take(stored)
    for (const label of before.labels) session.restrict({ label })
    if (before.status === 'KILLED') session.kill('client')
  }

  async function load(): Promise<void> {
    const stored = await store?.load(sessionId)
    if (stored === undefined || stored === null) return
    const { toolFilter } = session.state()
    adopt(stored)
    if (toolFilter !== null) session.restrict({ filter: toolFilter })
  }

  async function start(): Promise<void> {
    started ??= load()
    try {
      await started
    } catch (error) {
      started = null
      throw error
    }
  }

  /**
   * Saves in order. Where another process was faster, its state holds: this change is made `again` on top of it, or
   * refused.
   */
  async function save(again?: () => void): Promise<void> {
    if (store === undefined) return
    const done = saving.then(start).then(async () => {
      for (let tries = 1; !(await isSaved(store)); tries++) {
        const newer = await store.load(sessionId)
        if (newer !== null) adopt(newer)
        if (again === undefined || tries === SAVE_TRIES) throw changedElsewhere(sessionId)
        again()
      }
    })
    saving = done.catch(() => {})
    await done
  }

  async function isSaved(target: SessionStore): Promise<boolean> {
    const stored = { version: version + 1, compiled_hash: plan.hash, hash_salt: session.salt, state: session.state() }
    const isFirst = await target.save(sessionId, stored, version)
    if (isFirst) version = stored.version
    return isFirst
  }

  const saveSoon = (again: () => void): void => {
    save(again).catch(() => {})
  }

  function kill(cause: KillCause): void {
    if (isKilled()) return
    session.kill('client')
    onKilled(cause)
    saveSoon(() => session.kill('client'))
  }

  const isKilled = (): boolean => session.state().status === 'KILLED'

  function assertRunning(): void {
    if (isKilled()) throw new ReplayKillError()
  }

  /** Another process may have killed the session meanwhile. */
  async function lookForKill(): Promise<void> {
    if (store === undefined || isKilled()) return
    let stored: StoredSession | null
    try {
      stored = await store.load(sessionId)
    } catch (cause) {
      const message = `the store could not say whether the call may still run: ${messageOf(cause)}`
      throw new ReplayUnavailableError(message, { cause })
    }
    if (stored?.state.status !== 'KILLED' || isKilled()) return
    session.kill('client')
    onKilled('store')
  }

  async function preflight(request: PreflightRequest): Promise<PreflightResult> {
    if (store !== undefined) await start()
    assertRunning()
    const result = session.preflight(request, `prq_${newId()}`)
    if (isKilled()) onKilled('breaker')
    // A turn that was refused counts, like any other block.
    if (result.outcome === 'blocked') await save(() => void session.preflight(request, `prq_${newId()}`))
    return result
  }

  return {
    plan,
    saltOf: () => session.salt,
    open: start,
    current: () => session,
    prepare: preflight,
    async judge(proposal) {
      const wasKilled = isKilled()
      const verdict = session.propose(proposal, {
        proposalId: `prp_${newId()}`,
        pendingCallId: () => `pnd_${newId()}`,
      })
      await save()
      if (!wasKilled && isKilled()) onKilled('breaker')
      return verdict
    },
    abandon() {},
    async settle(_by, evidence) {
      const wasKilled = isKilled()
      const receive = (): void => session.receive(evidence.map(({ receipt }) => receipt))
      receive()
      if (!wasKilled && isKilled()) onKilled('breaker')
      await save(receive).catch(() => {})
    },
    async permit({ ageMs }) {
      await confirmIfOld(ageMs, lookForKill)
      assertRunning()
    },
    pending: async () => null,
    control(change) {
      if ('kill' in change) return kill(change.kill)
      // Only a server is told of what went past it.
      if ('bypass' in change) return
      session.restrict(change)
      saveSoon(() => session.restrict(change))
    },
    facts: () => ({
      status: session.state().status,
      lost: false,
      connection: 'none',
      degradedLocal: false,
      undeliveredReceipts: 0,
      inDoubt: 0,
      unguardedCalls: 0,
      errors: 0,
    }),
    async flush() {
      await saving
    },
    async close() {
      await saving
    },
  }
}

const SAVE_TRIES = 10

const changedElsewhere = (sessionId: string): ReplayContractError =>
  new ReplayContractError(`session ${sessionId} was changed by another process; nothing was allowed`, {
    outcome: 'blocked',
    decisions: [],
    blocked: [],
  })
