import { BlockList, isIPv4 } from 'node:net'

const networks = (
  list: readonly (readonly [address: string, prefix: number, family: 'ipv4' | 'ipv6'])[],
): BlockList => {
  const blocks = new BlockList()
  for (const [address, prefix, family] of list) blocks.addSubnet(address, prefix, family)
  return blocks
}

const LOOPBACK = networks([
  ['127.0.0.0', 8, 'ipv4'],
  ['::1', 128, 'ipv6'],
])

/** Networks of an organisation. */
const PRIVATE = networks([
  ['10.0.0.0', 8, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['fc00::', 7, 'ipv6'],
])

/** Where nothing serves the public: the own network segment, where clouds tell their secrets, multicast, documentation. */
const SPECIAL = networks([
  ['0.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['192.0.0.0', 24, 'ipv4'],
  ['192.0.2.0', 24, 'ipv4'],
  ['192.88.99.0', 24, 'ipv4'],
  ['198.18.0.0', 15, 'ipv4'],
  ['198.51.100.0', 24, 'ipv4'],
  ['203.0.113.0', 24, 'ipv4'],
  ['224.0.0.0', 3, 'ipv4'],
  // Addresses that hold one of IPv4, and those for documentation.
  ['2001::', 23, 'ipv6'],
  ['2001:db8::', 32, 'ipv6'],
  ['2002::', 16, 'ipv6'],
  ['3fff::', 20, 'ipv6'],
])

const GLOBAL_IPV6 = networks([['2000::', 3, 'ipv6']])

/** Whose address it is. `special`: none that anybody may be sent to. */
export type AddressKind = 'public' | 'private' | 'loopback' | 'special'

export function addressKind(address: string): AddressKind {
  const family = isIPv4(address) ? 'ipv4' : 'ipv6'
  if (LOOPBACK.check(address, family)) return 'loopback'
  if (PRIVATE.check(address, family)) return 'private'
  if (SPECIAL.check(address, family)) return 'special'
  return family === 'ipv4' || GLOBAL_IPV6.check(address, family) ? 'public' : 'special'
}
