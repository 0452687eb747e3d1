import type { SessionState } from '@countersign/engine'
import type { CaptureItem } from '@countersign/protocol'

/** Where a session without a server keeps its state, so that it outlives the process. */
export interface SessionStore {
  /** What was saved last; null when nothing was. */
  load(sessionId: string): Promise<StoredSession | null> | StoredSession | null
  /**
   * Keeps `stored` if the kept version is still `expectedVersion` (0: nothing is kept yet).
   * False means that another writer was faster; the session then goes on from what that one saved.
   */
  save(sessionId: string, stored: StoredSession, expectedVersion: number): Promise<boolean> | boolean
  appendCapture?(item: CaptureItem): Promise<void> | void
}

export interface StoredSession {
  /** Counts the saves. */
  readonly version: number
  /** The plan that the state was made under. */
  readonly compiled_hash: string
  readonly hash_salt: string
  readonly state: SessionState
}
