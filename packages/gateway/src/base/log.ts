import { type Logger, pino } from 'pino'

/** JSON lines with time and level, as the service writes them. No line holds a header or a body. */
export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>

export interface LogOptions {
  readonly level: 'debug' | 'info' | 'warn' | 'error' | 'silent'
  /** Where lines go; standard output unless given. */
  readonly write?: ((line: string) => void) | undefined
}

export function createLog({ level, write }: LogOptions): Log {
  const formatters = { level: (name: string) => ({ level: name }) }
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters }
  return write === undefined ? pino(options) : pino(options, { write: (line: string) => write(line.trimEnd()) })
}
