import { vi } from 'vitest'
import { root } from '../files/tracked-files.js'

export interface ExampleEnvironment {
  readonly apiUrl?: string
  readonly apiKey?: string
  /** The sign-in of a person, for examples in which one takes part. */
  readonly email?: string
  readonly password?: string
}

/**
 * Runs an example as a person would, on the sources, and once: a program runs when it is loaded. An example checks
 * itself: it throws when something is not as it says. Returns what it wrote to the terminal.
 */
export async function runExample(path: string, given: ExampleEnvironment = {}): Promise<string> {
  vi.stubEnv('COUNTERSIGN_API_URL', given.apiUrl)
  vi.stubEnv('COUNTERSIGN_API_KEY', given.apiKey)
  vi.stubEnv('COUNTERSIGN_EMAIL', given.email ?? '')
  vi.stubEnv('COUNTERSIGN_PASSWORD', given.password ?? '')
  vi.stubEnv('NO_COLOR', '1')
  let output = ''
  const write = (chunk: string | Uint8Array): boolean => {
    output += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8')
    return true
  }
  const spies = [
    vi.spyOn(process.stdout, 'write').mockImplementation(write),
    vi.spyOn(console, 'log').mockImplementation((...words) => void write(`${words.join(' ')}\n`)),
  ]
  try {
    await import(`${root}examples/${path}`)
    return output
  } finally {
    for (const spy of spies) spy.mockRestore()
    vi.unstubAllEnvs()
  }
}
