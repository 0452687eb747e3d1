import { isIPv6 } from 'node:net'

/** One household or server has a whole /64 of IPv6: it counts as one address. */
export function addressKey(address: string): string {
  if (!isIPv6(address)) return address
  const [head = '', tail = ''] = address.split('::', 2)
  const left = head === '' ? [] : head.split(':')
  const right = tail === '' ? [] : tail.split(':')
  const groups = [...left, ...Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0'), ...right]
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
}

/** The network of an address, which shares the hashing of passwords with other networks: a /24 of IPv4, a /64 of IPv6. */
export const networkOf = (address: string): string =>
  isIPv6(address) ? addressKey(address) : `${address.split('.').slice(0, 3).join('.')}.0/24`
