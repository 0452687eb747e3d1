import { pinTools, type SeenTools } from '@countersign/sdk'
import type { DefinitionPins, ToolDefinition } from './definition-pins.js'

/** The service is asked again after this: another definition may have been approved. */
const TRUSTED_MS = 30_000
/** Forgetting costs a question. */
const REMEMBERED = 10_000

/** Pins that the service keeps, for all gateways and processes of an agent. A person approves changes in the dashboard. */
export function createServicePins(scope: Omit<SeenTools, 'tools'>, nowMs = Date.now): DefinitionPins {
  /** When the service last said that a definition is the pinned one. */
  const trusted = new Map<string, number>()
  const isTrusted = (definition: ToolDefinition): boolean =>
    nowMs() - (trusted.get(keyOf(definition)) ?? Number.NEGATIVE_INFINITY) < TRUSTED_MS
  return {
    async changed(definitions) {
      const asked = definitions.filter((definition) => !isTrusted(definition))
      if (asked.length === 0) return new Set()
      const tools = asked.map(({ name, written }) => ({ name, definition: written }))
      const found = await pinTools({ ...scope, tools })
      if (trusted.size > REMEMBERED) trusted.clear()
      for (const one of asked) if (!found.has(one.name)) trusted.set(keyOf(one), nowMs())
      return found
    },
  }
}

const keyOf = ({ name, hash }: ToolDefinition): string => `${hash}\n${name}`
