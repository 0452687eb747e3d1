import type { MergedFile, PlanFile } from './merge-files.js'

/** Edits that are not saved yet. They outlast the page, the tab and an expired sign-in, in this browser. */
export interface UnsavedDraft {
  /** What was edited: the version by the hash of its files, and these. */
  readonly hash: string
  readonly base: readonly PlanFile[]
  readonly files: readonly MergedFile[]
}

const keyOf = (planId: string) => `countersign-draft:${planId}`

/** Null without edits, or where the browser keeps nothing. */
export function loadUnsaved(planId: string): UnsavedDraft | null {
  try {
    const stored = JSON.parse(localStorage.getItem(keyOf(planId)) ?? 'null') as UnsavedDraft | null
    return stored !== null && Array.isArray(stored.files) && Array.isArray(stored.base) ? stored : null
  } catch {
    return null
  }
}

export function keepUnsaved(planId: string, draft: UnsavedDraft): void {
  try {
    localStorage.setItem(keyOf(planId), JSON.stringify(draft))
  } catch {
    // A browser without room or permission: the edits are on the page only, as before.
  }
}

export function dropUnsaved(planId: string): void {
  try {
    localStorage.removeItem(keyOf(planId))
  } catch {
    // Nothing was kept.
  }
}
