import { isIPv6 } from 'node:net'

/** One household or server has a whole /64 of IPv6: it counts as one address. */
export const addressKey = (address: string): string => (isIPv6(address) ? `${firstGroups(address, 4)}::/64` : address)

/** The network of an address, which shares the hashing of passwords with other networks: a /24 of IPv4, a /64 of IPv6. */
export const networkOf = (address: string): string => (isIPv6(address) ? addressKey(address) : `${first24(address)}/24`)

/** All that one customer of a provider may have: a /24 of IPv4, a /48 of IPv6. */
export const siteOf = (address: string): string =>
  isIPv6(address) ? `${firstGroups(address, 3)}::/48` : `${first24(address)}/24`

/** IPv4 through an IPv6 socket looks like ::ffff:192.0.2.1. */
export const plainAddress = (address: string): string => address.replace(/^::ffff:(?=[0-9.]+$)/i, '')

const first24 = (address: string) => `${address.split('.').slice(0, 3).join('.')}.0`

function firstGroups(address: string, count: number): string {
  const [head = '', tail = ''] = address.split('::', 2)
  const left = head === '' ? [] : head.split(':')
  const right = tail === '' ? [] : tail.split(':')
  const groups = [...left, ...Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0'), ...right]
  return groups
    .slice(0, count)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')
}
