import { ApiProblem, unreachable } from './api.js'

/**
 * Loads the code of a page. Where that fails the router must not do what it does by itself, which is to reload the
 * window: while the server is away there is nothing to reload.
 */
export async function pageCode<Code>(load: () => Promise<Code>): Promise<Code> {
  try {
    return await load()
  } catch (cause) {
    throw new MissingCode(await isServed(), cause)
  }
}

/** The code of a page did not come: the server is away, or was updated and has other code by now. */
export class MissingCode extends ApiProblem {
  constructor(served: boolean, cause: unknown) {
    super(
      served
        ? {
            status: 500,
            code: 'INTERNAL',
            title: 'this page could not be displayed',
            detail: `${cause instanceof Error ? cause.message : 'Its code is missing'}. Try reloading it: the server may have been updated while it was open.`,
          }
        : unreachable,
    )
  }
}

/** Reloads the window if the server has something to show in it; otherwise what is shown stays. */
export async function reloadIfServed(): Promise<void> {
  if (await isServed()) location.reload()
}

const LAST_RELOAD = 'countersign.reloaded-at'
const PAUSE_MS = 30_000

/** The same by itself, and not again and again where the reloaded page has no code either. */
export async function reloadOnceServed(): Promise<void> {
  const isRecent = Date.now() - Number(sessionStorage.getItem(LAST_RELOAD)) < PAUSE_MS
  if (isRecent || !(await isServed())) return
  sessionStorage.setItem(LAST_RELOAD, String(Date.now()))
  location.reload()
}

/** A proxy may answer for a server that is away. */
async function isServed(): Promise<boolean> {
  const response = await fetch('/', { cache: 'no-store' }).catch(() => null)
  return response?.ok === true
}
