import { spendOnJudging } from '../text/judging-budget.js'

/** Reads a record keyed by untrusted names: `__proto__` and `toString` are just names. */
export function lookUp<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined
}

/**
 * The keys of a value that is judged. From a few hundred on the runtime sorts them each time they are asked for, which
 * takes a tenth to a fifth of a microsecond for each, also where only the first is looked at.
 */
export function countedKeys(value: object): string[] {
  const keys = Object.keys(value)
  if (keys.length > FEW_KEYS) spendOnJudging(keys.length * STEPS_OF_KEY)
  return keys
}

const FEW_KEYS = 128
const STEPS_OF_KEY = 2

/** Sets an own entry under any name: a plain assignment to `__proto__` would be lost. */
export function setEntry<T>(record: Record<string, T>, name: string, value: T): void {
  if (name in Object.prototype) {
    Object.defineProperty(record, name, { value, writable: true, enumerable: true, configurable: true })
  } else record[name] = value
}
