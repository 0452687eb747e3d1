import { lookup } from 'node:dns/promises'
import type { IncomingMessage, RequestOptions } from 'node:http'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { addressKind } from './addresses.js'

export interface ReadJsonOptions {
  /** Also addresses of private networks, and http on this machine. */
  readonly allowLocal: boolean
  readonly timeoutMs: number
  readonly maxBytes: number
}

/** What stands at an address cannot be read. The message names no address that a name led to. */
export class UnreadableAddress extends Error {
  override name = 'UnreadableAddress'
}

/**
 * Reads JSON from an address that may be hostile. The name is resolved once, and the connection goes to what was checked:
 * never to this machine or its networks. Redirects are not followed.
 */
export async function readJson(address: string, options: ReadJsonOptions): Promise<unknown> {
  const signal = AbortSignal.timeout(options.timeoutMs)
  try {
    const response = await get(new URL(address), options, signal)
    // Leaving the loop early closes the connection.
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (response.statusCode !== 200 || bytes > options.maxBytes) break
      chunks.push(chunk)
    }
    if (response.statusCode !== 200) throw new UnreadableAddress(`it answered ${response.statusCode}`)
    if (bytes > options.maxBytes) throw new UnreadableAddress(`it answered with more than ${options.maxBytes} bytes`)
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch (error) {
    if (error instanceof UnreadableAddress) throw error
    throw new UnreadableAddress(reasonOf(error, signal), { cause: error })
  }
}

function get(url: URL, { allowLocal }: ReadJsonOptions, signal: AbortSignal): Promise<IncomingMessage> {
  const isPlain = url.protocol === 'http:'
  if (url.protocol !== 'https:' && !(isPlain && allowLocal)) throw new UnreadableAddress('it is not https')
  const accept = (address: string): void => {
    const kind = addressKind(address)
    const isLocal = kind === 'loopback' || kind === 'private'
    if (isPlain && kind !== 'loopback') throw new UnreadableAddress('it is not https')
    if (kind === 'special' || (isLocal && !allowLocal)) throw new UnreadableAddress('its address is not public')
  }
  const host = url.hostname.replace(/^\[|\]$/g, '')
  // A connection to an address asks no `lookup`.
  if (isIP(host) !== 0) accept(host)
  const options: RequestOptions = {
    agent: false,
    lookup: checkedLookup(accept),
    headers: { accept: 'application/json' },
    signal,
  }
  return new Promise((resolve, reject) => {
    const request = (isPlain ? requestHttp : requestHttps)(url, options, resolve)
    request.once('error', reject)
    request.end()
  })
}

/** Throws nothing: what a name leads to is handed over only if all of it may be used. */
const checkedLookup =
  (accept: (address: string) => void): LookupFunction =>
  (hostname, { all }, callback) => {
    lookup(hostname, { all: true })
      .then((found) => {
        for (const { address } of found) accept(address)
        const [first] = found
        if (all) callback(null, found)
        else if (first !== undefined) callback(null, first.address, first.family)
        else throw new UnreadableAddress('its name leads nowhere')
      })
      .catch((error: NodeJS.ErrnoException) => callback(error, []))
  }

function reasonOf(error: unknown, { aborted }: AbortSignal): string {
  if (aborted) return 'it took too long'
  if (error instanceof SyntaxError) return 'it answered something that is not JSON'
  const { code } = error as NodeJS.ErrnoException
  return typeof code === 'string' ? `it cannot be reached (${code})` : 'it cannot be reached'
}
