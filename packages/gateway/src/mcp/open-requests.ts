import { idKey, type MessageId, type RpcRequest, type RpcResponse, writeMessage } from './message.js'

/** What waits for an answer of the server. */
export interface Waiting {
  answered(response: RpcResponse, text: string): void
  /** There will be none. */
  lost(why: string): void
}

/** The requests that a server has not answered yet. */
export interface OpenRequests {
  has(id: MessageId): boolean
  count(): number
  add(id: MessageId, waiting: Waiting): void
  /** Sends a request of the gateway's. Rejects when the server ends, and when the signal is aborted; then it is cancelled. */
  ask(request: RpcRequest, signal: AbortSignal): Promise<RpcResponse>
  /** Gives an answer to what waits for it, once. False if nothing does. */
  answer(response: RpcResponse, text: string): boolean
  /** The server is gone. */
  end(why: string): void
  /** Why there will be no more answers; null while there may be. */
  ended(): string | null
}

export function createOpenRequests(toServer: (text: string) => void): OpenRequests {
  const open = new Map<string, Waiting>()
  let ended: string | null = null

  const cancel = (requestId: MessageId, reason: unknown): void => {
    const params = { requestId, reason: reason instanceof Error ? reason.message : 'cancelled' }
    if (ended === null) toServer(writeMessage({ kind: 'notification', method: 'notifications/cancelled', params }))
  }

  return {
    has: (id) => open.has(idKey(id)),
    count: () => open.size,
    add: (id, waiting) => void open.set(idKey(id), waiting),
    ask: (request, signal) =>
      new Promise((resolve, reject) => {
        if (ended !== null) return reject(new Error(ended))
        if (signal.aborted) return reject(signal.reason)
        const onAbort = (): void => {
          open.delete(idKey(request.id))
          cancel(request.id, signal.reason)
          reject(signal.reason)
        }
        signal.addEventListener('abort', onAbort, { once: true })
        const over = (): void => signal.removeEventListener('abort', onAbort)
        open.set(idKey(request.id), {
          answered(response) {
            over()
            resolve(response)
          },
          lost(why) {
            over()
            // The tool may have done its work.
            reject(Object.assign(new Error(why), { code: 'ECONNRESET' }))
          },
        })
        toServer(writeMessage(request))
      }),
    answer(response, text) {
      const key = response.id === null ? '' : idKey(response.id)
      const waiting = open.get(key)
      open.delete(key)
      waiting?.answered(response, text)
      return waiting !== undefined
    },
    end(why) {
      ended = why
      const waiting = [...open.values()]
      open.clear()
      for (const { lost } of waiting) lost(why)
    },
    ended: () => ended,
  }
}
