import type { Socket } from 'node:net'

export interface ConnectionLimits {
  readonly ofAll: number
  readonly ofAddress: number
}

/** Says of each connection why it is refused; null where it may stay, and counts until it is closed. */
export function admitConnections({ ofAll, ofAddress }: ConnectionLimits): (socket: Socket) => string | null {
  const byAddress = new Map<string, number>()
  let all = 0
  return (socket) => {
    const address = socket.remoteAddress ?? ''
    const own = byAddress.get(address) ?? 0
    if (all >= ofAll) return 'the gateway has as many connections as it may (--max-connections): try again soon'
    if (own >= ofAddress) {
      return 'this address has as many connections as it may (--max-connections-per-address): close some of them'
    }
    all += 1
    byAddress.set(address, own + 1)
    socket.once('close', () => {
      all -= 1
      const left = (byAddress.get(address) ?? 0) - 1
      if (left > 0) byAddress.set(address, left)
      else byAddress.delete(address)
    })
    return null
  }
}
