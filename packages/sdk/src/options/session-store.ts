import type { SessionState } from '@countersign/engine'
import type { CaptureItem } from '@countersign/protocol'

/** Stores the state of sessions without a server, so that they outlive the process. */
export interface SessionStore {
  /** Returns what was saved last; null if nothing was. */
  load(sessionId: string): Promise<StoredSession | null> | StoredSession | null
  /**
   * Saves `stored` if the saved version is still `expectedVersion` (0: nothing is saved yet).
   * Returns false if another writer was faster; the session then continues from what that one saved.
   */
  save(sessionId: string, stored: StoredSession, expectedVersion: number): Promise<boolean> | boolean
  /** Stores a capture, if the program wants them. */
  appendCapture?(item: CaptureItem): Promise<void> | void
}

/** The saved state of a session. Store it as it is. */
export interface StoredSession {
  /** Increases by one with every save. */
  readonly version: number
  /** The hash of the plan that the session was using. */
  readonly compiled_hash: string
  /** The salt of the hashes in the state. */
  readonly hash_salt: string
  /** The state of the session. */
  readonly state: SessionState
}
