import { pino } from 'pino'
import { redact, redactText } from './redact.js'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'
type Fields = Readonly<Record<string, unknown>>

/** The only way to the log: everything that passes is redacted, fields, messages and errors alike. */
export interface Log {
  debug(fields: Fields, message: string): void
  info(fields: Fields, message: string): void
  warn(fields: Fields, message: string): void
  error(fields: Fields, message: string): void
  /** A log whose lines all carry these fields. */
  with(fields: Fields): Log
}

export interface LogOptions {
  level: LogLevel | 'silent'
  /** Where lines go; standard output unless given. */
  write?: (line: string) => void
}

export function createLog({ level, write }: LogOptions): Log {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: levelByName } }
  return wrap(write ? pino(options, { write }) : pino(options), {})
}

const levelByName = (label: string) => ({ level: label })

type Writer = Pick<ReturnType<typeof pino>, LogLevel | 'isLevelEnabled'>

function wrap(writer: Writer, bound: Fields): Log {
  const at = (level: LogLevel) => (fields: Fields, message: string) => {
    if (!writer.isLevelEnabled(level)) return
    writer[level](redact({ ...bound, ...fields }) as object, redactText(message))
  }
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    with: (fields) => wrap(writer, { ...bound, ...fields }),
  }
}
