import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'
import { plainAddress } from '../base/address-key.js'
import { headerOf } from '../context/http-request.js'

export type ClientAddress = (incoming: Pick<IncomingMessage, 'socket' | 'rawHeaders'>) => string

/** More proxies than anybody has in a row. */
const MOST_HOPS = 16

/**
 * X-Forwarded-For counts only as far as trusted proxies wrote it: read from the right, until one is not trusted. The rest
 * of it is a stranger's, of any length, and this is asked before requests take turns: it is not looked at.
 */
export function clientAddressBehind(trustedProxies: readonly string[]): ClientAddress {
  const isTrusted = trustedNetworks(trustedProxies)
  return ({ socket, rawHeaders }) => {
    let address = plainAddress(socket.remoteAddress ?? '')
    if (!isTrusted(address)) return address
    const hops = headerOf(rawHeaders, 'x-forwarded-for') ?? ''
    let end = hops.length
    for (let hop = 0; hop < MOST_HOPS && end > 0 && isTrusted(address); hop++) {
      const comma = hops.lastIndexOf(',', end - 1)
      const before = plainAddress(hops.slice(comma + 1, end).trim())
      if (isIP(before) === 0) break
      address = before
      end = comma
    }
    return address
  }
}

/** Whether an address is in one of the networks. */
export function trustedNetworks(networks: readonly string[]): (address: string) => boolean {
  const trusted = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (bits === undefined) trusted.addAddress(address, family)
    else trusted.addSubnet(address, Number(bits), family)
  }
  return (given) => {
    const address = plainAddress(given)
    return isIP(address) !== 0 && trusted.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
  }
}
