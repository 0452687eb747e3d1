import { BlockList, isIP } from 'node:net'

export type ClientAddress = (remoteAddress: string | undefined, forwardedFor: string | null) => string

/** X-Forwarded-For counts only as far as trusted proxies wrote it: read from the right, until one is not trusted. */
export function clientAddressBehind(trustedProxies: readonly string[]): ClientAddress {
  const isTrusted = trustedNetworks(trustedProxies)
  return (remoteAddress, forwardedFor) => {
    let address = plain(remoteAddress ?? '')
    if (forwardedFor === null) return address
    const hops = forwardedFor.split(',').map((hop) => plain(hop.trim()))
    while (isTrusted(address)) {
      const before = hops.pop()
      if (before === undefined || isIP(before) === 0) break
      address = before
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
    const address = plain(given)
    return isIP(address) !== 0 && trusted.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
  }
}

/** IPv4 through an IPv6 socket looks like ::ffff:192.0.2.1. */
const plain = (address: string) => address.replace(/^::ffff:(?=[0-9.]+$)/i, '')
