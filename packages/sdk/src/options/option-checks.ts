import { ReplayConfigError } from '../base/errors.js'

/** Refuses an option of `replay` by its name. */
export function refuse(option: string, problem: string): never {
  throw new ReplayConfigError(`option ${option} ${problem}`, 'compilation_failed')
}

export function choice<T extends string>(option: string, value: T | undefined, allowed: readonly T[]): T | undefined {
  if (value !== undefined && !allowed.includes(value)) {
    refuse(option, `must be one of ${allowed.join(', ')}, not ${shown(value)}`)
  }
  return value
}

export function whole(option: string, value: number | undefined, least: number, most: number): number | undefined {
  if (value === undefined) return undefined
  if (!Number.isInteger(value) || value < least || value > most) {
    refuse(option, `must be a whole number from ${least} to ${most}, not ${shown(value)}`)
  }
  return value
}

export function text(option: string, value: string | undefined, longest: number): string | null {
  if (value === undefined) return null
  if (typeof value !== 'string' || value === '' || value.length > longest) {
    refuse(option, `must be a text of 1 to ${longest} characters`)
  }
  return value
}

export function path(option: string, value: unknown): void {
  if (value instanceof URL) refuse(option, 'must be a path: make one of the URL with fileURLToPath from node:url')
  if (value !== undefined && (typeof value !== 'string' || value === '')) {
    refuse(option, `must be a path, not ${shown(value)}`)
  }
}

export function flag(option: string, value: boolean | undefined): boolean | undefined {
  if (value !== undefined && typeof value !== 'boolean') refuse(option, `must be true or false, not ${shown(value)}`)
  return value
}

export function callable(option: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'function') refuse(option, 'must be a function')
}

/** A value as it may be written in an error: short, and never an object, which may hold a secret. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
  return value === null || typeof value !== 'object' ? String(value) : Array.isArray(value) ? 'an array' : 'an object'
}
