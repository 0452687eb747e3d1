/** Bytes of captures that wait to be written. */
export interface WaitingBytes {
  /** False beyond the bound, or beyond the quarter of it that a tenant may hold in several pieces: nothing is taken then. */
  take(tenantId: string, bytes: number): boolean
  release(tenantId: string, bytes: number): void
  bytes(): number
}

/** Unlike what a cache forgets, a dropped capture is lost: so no tenant can take the room of the others. */
export function createWaitingBytes(boundBytes: number): WaitingBytes {
  const held = new Map<string, number>()
  let total = 0
  return {
    take: (tenantId, bytes) => {
      const before = held.get(tenantId) ?? 0
      if ((before > 0 && before + bytes > boundBytes / 4) || total + bytes > boundBytes) return false
      held.set(tenantId, before + bytes)
      total += bytes
      return true
    },
    release: (tenantId, bytes) => {
      total -= bytes
      const left = (held.get(tenantId) ?? 0) - bytes
      if (left > 0) held.set(tenantId, left)
      else held.delete(tenantId)
    },
    bytes: () => total,
  }
}
