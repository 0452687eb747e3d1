import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type WebhookMessage, webhookMessageSchema } from '@countersign/protocol'
import { Webhook } from 'standardwebhooks'

export interface Received {
  readonly id: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface WebhookReceiver {
  readonly url: string
  readonly received: Received[]
  /** What is answered from now on: a status, or in any other way. */
  answer(how: number | ((request: IncomingMessage, response: ServerResponse) => void)): void
  close(): Promise<void>
}

/** A server that takes webhooks, on loopback. */
export async function startReceiver(): Promise<WebhookReceiver> {
  const received: Received[] = []
  let how: Parameters<WebhookReceiver['answer']>[0] = 200
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    const { headers } = request
    received.push({ id: String(headers['webhook-id']), headers, body: Buffer.concat(chunks).toString('utf8') })
    if (typeof how === 'function') how(request, response)
    else response.writeHead(how).end()
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/in`,
    received,
    answer: (given) => {
      how = given
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

/** As a receiver reads it, by the published package. Throws where the signature does not fit. */
export const verified = ({ headers, body }: Received, secret: string): WebhookMessage =>
  webhookMessageSchema.parse(new Webhook(secret).verify(body, headers as Record<string, string>))
