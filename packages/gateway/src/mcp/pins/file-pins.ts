import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '@countersign/protocol'
import { isObject } from '../../base/is-object.js'
import type { DefinitionPins, ToolDefinition } from './definition-pins.js'

/** A definition of a tool as it is kept in a file of pins. */
interface PinnedTool {
  readonly hash: string
  readonly definition: JsonObject
  /** What the server says now, where that is something else. It waits for a person. */
  readonly changed?: { readonly hash: string; readonly definition: JsonObject }
}

type Pins = Map<string, PinnedTool>

/** Whose tools are pinned. */
export interface PinScope {
  readonly agent: string
  readonly server: string | null
}

/** The file of pins cannot be used. */
export class PinsError extends Error {
  override readonly name = 'PinsError'
}

/**
 * Pins in a file, which outlive the process and can be reviewed as a lockfile is. A tool is pinned as it is first seen;
 * what differs later stands beside it until a person approves it.
 */
export function createFilePins(path: string, scope: PinScope): DefinitionPins {
  return {
    async changed(definitions) {
      const pins = readPins(path)
      const before = new Map(pins)
      const found = definitions.filter((definition) => compare(pins, nameOf(scope, definition.name), definition))
      if (!isDeepStrictEqual(pins, before)) writePins(path, pins)
      return new Set(found.map(({ name }) => name))
    },
  }
}

const nameOf = ({ agent, server }: PinScope, tool: string): string => [agent, server ?? '', tool].join('/')

/** True where the definition is another than the pinned one. */
function compare(pins: Pins, name: string, { hash, written }: ToolDefinition): boolean {
  const pinned = pins.get(name)
  if (pinned === undefined || pinned.hash === hash) {
    pins.set(name, { hash, definition: pinned?.definition ?? written })
    return false
  }
  pins.set(name, { ...pinned, changed: { hash, definition: written } })
  return true
}

/** A tool whose definition changed, before and after. */
export interface PinChange {
  /** `agent/server/tool`. */
  readonly name: string
  readonly before: JsonObject
  readonly after: JsonObject
}

export function changesIn(path: string): PinChange[] {
  return [...readPins(path)].flatMap(([name, { definition, changed }]) =>
    changed === undefined ? [] : [{ name, before: definition, after: changed.definition }],
  )
}

/** A person approves what a tool has become. False where nothing waits under this name. */
export function approveChange(path: string, name: string): boolean {
  const pins = readPins(path)
  const changed = pins.get(name)?.changed
  if (changed === undefined) return false
  pins.set(name, changed)
  writePins(path, pins)
  return true
}

function readPins(path: string): Pins {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Map()
    throw new PinsError(`the file of pins ${path} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
  const tools = parsed(text)
  if (tools === null) throw new PinsError(`the file of pins ${path} is damaged: restore it, or delete it to pin anew`)
  return new Map(Object.entries(tools)) as unknown as Pins
}

function parsed(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text)
    const tools = isObject(value) && isObject(value.tools) ? value.tools : null
    const isWhole = (tool: unknown): boolean => isObject(tool) && typeof tool.hash === 'string'
    return tools !== null && Object.values(tools).every(isWhole) ? tools : null
  } catch {
    return null
  }
}

/** In one step, so that no process reads half of it. */
function writePins(path: string, pins: Pins): void {
  const tools = Object.fromEntries([...pins].sort(([a], [b]) => (a < b ? -1 : 1)))
  const temporary = `${path}.${process.pid}`
  writeFileSync(temporary, `${JSON.stringify({ tools }, null, 2)}\n`)
  renameSync(temporary, path)
}
