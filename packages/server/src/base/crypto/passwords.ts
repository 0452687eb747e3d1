import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { ApiError } from '../api-error.js'

export interface PasswordOptions {
  /** log2 of scrypt's N. 17 is today's recommendation (0.4 s, 128 MiB); tests use less. */
  readonly cost: number
  /** Hashes computed at once, and how many may wait behind them; one more gets 503. */
  readonly concurrency?: number
  readonly queue?: number
}

export interface Passwords {
  hash(password: string): Promise<string>
  /** Null stands for an unknown account: the same work is done, and the result is false. */
  verify(password: string, stored: string | null): Promise<boolean>
  /** Whether a stored hash was made with other parameters than today's. */
  isOutdated(stored: string): boolean
}

const KEY_BYTES = 32
const SALT_BYTES = 16
const BLOCK_SIZE = 8
const PARALLELISM = 1

/** scrypt with a salt of its own for each password; the parameters travel with the hash. */
export function createPasswords({ cost, concurrency = 2, queue = 32 }: PasswordOptions): Passwords {
  const run = createQueue(concurrency, queue)
  const unknownAccount = encode(cost, randomBytes(SALT_BYTES), randomBytes(KEY_BYTES))
  return {
    async hash(password) {
      const salt = randomBytes(SALT_BYTES)
      return encode(cost, salt, await run(() => derive(password, salt, cost)))
    },
    async verify(password, stored) {
      const { cost: storedCost, salt, key } = decode(stored ?? unknownAccount)
      const derived = await run(() => derive(password, salt, storedCost))
      return timingSafeEqual(derived, key) && stored !== null
    },
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
function derive(password: string, salt: Buffer, cost: number): Promise<Buffer> {
  const N = 2 ** cost
  const options: ScryptOptions = { N, r: BLOCK_SIZE, p: PARALLELISM, maxmem: 256 * N * BLOCK_SIZE }
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFKC'), salt, KEY_BYTES, options, (error, key) => (error ? reject(error) : resolve(key)))
  })
}

/** At most `concurrency` at once, at most `limit` waiting: hashing is the most expensive thing a stranger can ask for. */
function createQueue(concurrency: number, limit: number) {
  const waiting: (() => void)[] = []
  let running = 0
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (running >= concurrency) {
      if (waiting.length >= limit) throw new ApiError('BUSY')
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else running += 1
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) running -= 1
      else next()
    }
  }
}
