import { lookup } from 'node:dns/promises'
import type { IncomingMessage, RequestOptions } from 'node:http'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { addressKind } from './addresses.js'

export interface Outbound {
  /** Also addresses of private networks, and http on this machine. */
  readonly allowLocal: boolean
  /** From the first byte to the last. */
  readonly timeoutMs: number
}

/** The address cannot be reached or must not be used. The message names no address that a name led to. */
export class UnreachableAddress extends Error {
  override name = 'UnreachableAddress'
}

interface Sent {
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/**
 * Asks an address that may be hostile, and reads its answer. The name is resolved once, and the connection goes to what was
 * checked: never to this machine or its networks. Redirects are not followed. Throws `UnreachableAddress`.
 */
export async function checkedRequest<T>(
  address: string,
  sent: Sent,
  { allowLocal, timeoutMs }: Outbound,
  read: (response: IncomingMessage) => Promise<T>,
): Promise<T> {
  const signal = AbortSignal.timeout(timeoutMs)
  try {
    const response = await send(new URL(address), sent, allowLocal, signal)
    try {
      return await read(response)
    } finally {
      response.destroy()
    }
  } catch (error) {
    if (error instanceof UnreachableAddress) throw error
    throw new UnreachableAddress(reasonOf(error, signal), { cause: error })
  }
}

/** Throws where an address can be seen to be none that may be asked, before anything is sent to it. */
export function requireUsable(url: URL, allowLocal: boolean): (address: string) => void {
  const isPlain = url.protocol === 'http:'
  if (url.protocol !== 'https:' && !(isPlain && allowLocal)) throw new UnreachableAddress('it is not https')
  const accept = (address: string): void => {
    const kind = addressKind(address)
    const isLocal = kind === 'loopback' || kind === 'private'
    if (isPlain && kind !== 'loopback') throw new UnreachableAddress('it is not https')
    if (kind === 'special' || (isLocal && !allowLocal)) throw new UnreachableAddress('its address is not public')
  }
  const host = url.hostname.replace(/^\[|\]$/g, '')
  // A connection to an address asks no `lookup`.
  if (isIP(host) !== 0) accept(host)
  return accept
}

function send(url: URL, sent: Sent, allowLocal: boolean, signal: AbortSignal): Promise<IncomingMessage> {
  const { method, headers, body } = sent
  const accept = requireUsable(url, allowLocal)
  const options: RequestOptions = { agent: false, lookup: checkedLookup(accept), method, headers, signal }
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'http:' ? requestHttp : requestHttps)(url, options, resolve)
    request.once('error', reject)
    // An answer that switches protocols is neither a response nor an error.
    request.once('close', () => reject(new UnreachableAddress('it gave no answer')))
    request.end(body)
  })
}

/** Passes on the resolved addresses only if all of them are allowed; errors go to the callback. */
const checkedLookup =
  (accept: (address: string) => void): LookupFunction =>
  (hostname, { all }, callback) => {
    lookup(hostname, { all: true })
      .then((found) => {
        for (const { address } of found) accept(address)
        const [first] = found
        if (all) callback(null, found)
        else if (first !== undefined) callback(null, first.address, first.family)
        else throw new UnreachableAddress('its name leads nowhere')
      })
      .catch((error: NodeJS.ErrnoException) => callback(error, []))
  }

function reasonOf(error: unknown, { aborted }: AbortSignal): string {
  if (aborted) return 'it took too long'
  const { code } = error as NodeJS.ErrnoException
  return typeof code === 'string' ? `it cannot be reached (${code})` : 'it cannot be reached'
}
