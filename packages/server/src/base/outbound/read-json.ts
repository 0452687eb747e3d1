import { checkedRequest, type Outbound, UnreachableAddress } from './checked-request.js'

export interface ReadJsonOptions extends Outbound {
  readonly maxBytes: number
}

/** Reads JSON from an address that may be hostile. Throws `UnreachableAddress`. */
export async function readJson(address: string, options: ReadJsonOptions): Promise<unknown> {
  const sent = { method: 'GET', headers: { accept: 'application/json' } } as const
  const text = await checkedRequest(address, sent, options, async (response) => {
    if (response.statusCode !== 200) throw new UnreachableAddress(`it answered ${response.statusCode}`)
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > options.maxBytes) throw new UnreachableAddress(`it answered with more than ${options.maxBytes} bytes`)
      chunks.push(chunk)
    }
    return Buffer.concat(chunks).toString('utf8')
  })
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new UnreachableAddress('it answered something that is not JSON', { cause: error })
  }
}
