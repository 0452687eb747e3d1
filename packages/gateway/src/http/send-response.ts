import { once } from 'node:events'
import type { ServerResponse } from 'node:http'

/** Sends a response as it comes, chunk by chunk. Where the client leaves, the rest of it is cancelled. */
export async function sendResponse(response: Response, reply: ServerResponse, signal: AbortSignal): Promise<void> {
  const { status, headers, body } = response
  if (signal.aborted || reply.destroyed) {
    await body?.cancel().catch(() => {})
    return
  }
  reply.statusCode = status
  for (const [name, value] of headers) {
    if (name !== 'set-cookie') reply.setHeader(name, value)
  }
  const cookies = headers.getSetCookie()
  if (cookies.length > 0) reply.setHeader('set-cookie', cookies)
  // What the client still sends of a refused request is not read.
  if (!reply.req.complete) reply.setHeader('connection', 'close')
  if (body === null) {
    reply.end()
    return
  }
  reply.flushHeaders()
  const reader = body.getReader()
  const cancel = (): void => void reader.cancel(signal.reason).catch(() => {})
  signal.addEventListener('abort', cancel, { once: true })
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      // The signal is aborted when the client leaves.
      if (!reply.write(value)) await once(reply, 'drain', { signal })
    }
    reply.end()
  } catch {
    // Half an answer must not look like a whole one.
    reply.destroy()
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}
