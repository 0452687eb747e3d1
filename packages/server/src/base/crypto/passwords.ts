import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { createFairQueue, type Waiting } from '../work/fair-queue.js'

export interface PasswordOptions {
  /** log2 of scrypt's N. 17 is today's recommendation (0.4 s, 128 MiB); tests use less. */
  readonly cost: number
  /** The highest cost of the hashes that are stored, when it is known. */
  readonly highestStored?: Promise<number>
  /** Hashes computed at once, and how many may wait behind them; one more gets 503. */
  readonly concurrency?: number
  readonly queue?: number
  /** In place of scrypt, for tests that count what it costs. */
  readonly derive?: Derive
}

/** Who waits for a hash. */
export interface Applicant {
  /** Strangers share the hashing by network, known browsers by account. */
  readonly owner: string
  /** A browser that has signed in to the account before. It does not wait behind strangers. */
  readonly isKnown: boolean
}

export interface Passwords {
  hash(password: string, by?: Applicant): Promise<string>
  /** Null stands for an unknown account: the same work is done, and the result is false. */
  verify(password: string, stored: string | null, by?: Applicant): Promise<boolean>
  /** Whether a stored hash was made with other parameters than today's. */
  isOutdated(stored: string): boolean
}

type Derive = (password: string, salt: Buffer, cost: number) => Promise<Buffer>

const KEY_BYTES = 32
const SALT_BYTES = 16
const BLOCK_SIZE = 8
const PARALLELISM = 1

/** A demo account, for instance. */
const THIS_PROCESS: Applicant = { owner: 'process', isKnown: true }

/** scrypt with a salt of its own for each password; the parameters travel with the hash. */
export function createPasswords(options: PasswordOptions): Passwords {
  const { cost, concurrency = 2, queue = 32, derive = scryptKey } = options
  const run = createShares(concurrency, queue)
  const highest = Promise.resolve(options.highestStored ?? cost).catch(() => cost)

  /**
   * Every verdict costs as much as the most expensive hash that is stored, so that the time tells nothing about an account.
   * The costs from a hash's own up to the one below that add up to the difference: 2^c + (2^c + … + 2^(h-1)) = 2^h.
   */
  const verifyEvenly = async (password: string, stored: string | null): Promise<boolean> => {
    const level = Math.max(cost, await highest)
    if (stored === null) {
      await derive(password, randomBytes(SALT_BYTES), level)
      return false
    }
    const { cost: own, salt, key } = decode(stored)
    const matches = timingSafeEqual(await derive(password, salt, own), key)
    for (let padding = own; padding < level; padding++) await derive(password, salt, padding)
    return matches
  }

  return {
    async hash(password, by = THIS_PROCESS) {
      const salt = randomBytes(SALT_BYTES)
      return encode(cost, salt, await run(by, () => derive(password, salt, cost)))
    },
    verify: (password, stored, by = THIS_PROCESS) => run(by, () => verifyEvenly(password, stored)),
    isOutdated: (stored) => decode(stored).cost !== cost,
  }
}

const encode = (cost: number, salt: Buffer, key: Buffer) =>
  `scrypt$${cost}$${BLOCK_SIZE}$${PARALLELISM}$${salt.toString('base64url')}$${key.toString('base64url')}`

function decode(stored: string): { cost: number; salt: Buffer; key: Buffer } {
  const [name, cost, blockSize, parallelism, salt, key] = stored.split('$')
  if (name !== 'scrypt' || Number(blockSize) !== BLOCK_SIZE || Number(parallelism) !== PARALLELISM || !salt || !key) {
    throw new Error('a stored password hash has an unknown form')
  }
  return { cost: Number(cost), salt: Buffer.from(salt, 'base64url'), key: Buffer.from(key, 'base64url') }
}

/** Unicode forms of one password are one password. */
function scryptKey(password: string, salt: Buffer, cost: number): Promise<Buffer> {
  const N = 2 ** cost
  const options: ScryptOptions = { N, r: BLOCK_SIZE, p: PARALLELISM, maxmem: 256 * N * BLOCK_SIZE }
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFKC'), salt, KEY_BYTES, options, (error, key) => (error ? reject(error) : resolve(key)))
  })
}

interface Hashing extends Waiting {
  readonly start: () => void
}

/** How many hashes one network may have waiting, so that it cannot shut sign-in for the others. */
const PER_OWNER = 4

/**
 * At most `concurrency` at once, at most `limit` waiting, in turn between networks: hashing is the most expensive thing
 * that a stranger can ask for. Known browsers have a queue of their own and go first: strangers cannot fill it, and a
 * known browser has few tries.
 */
function createShares(concurrency: number, limit: number) {
  const options = { perOwner: PER_OWNER, inAll: limit }
  const known = createFairQueue<Hashing>({ what: 'sign-ins to this account', ...options })
  const strangers = createFairQueue<Hashing>({ what: 'sign-ins from your network', ...options })
  let running = 0
  const release = () => {
    const next = known.next() ?? strangers.next()
    if (next === null) running -= 1
    else next.start()
  }
  return async <T>({ owner, isKnown }: Applicant, work: () => Promise<T>): Promise<T> => {
    const queue = isKnown ? known : strangers
    if (running < concurrency) running += 1
    else {
      queue.requireRoom(owner)
      await new Promise<void>((start, refuse) => queue.add({ owner, start, refuse }))
    }
    try {
      return await work()
    } finally {
      release()
    }
  }
}
