import type { JsonObject, SideEffect } from '@countersign/protocol'
import { isWritten, namesByNumber } from '../flows/argument-words.js'
import { locationPath } from '../json/json-path.js'

/** Rules that an owner often wants for such arguments, as comments: none of them follows from a definition. */
export function suggestedRules(tool: string, effect: SideEffect, schema: JsonObject | null): string[] {
  const names = Object.entries(propertiesOf(schema))
  const amount = names.find(([name, kind]) => isNumber(kind) && !namesByNumber(locationPath([name])))
  const written = (name: string) => isWritten(locationPath([name]))
  const identifier = names.find(([name, kind]) => kind.type === 'string' && kind.enum === undefined && !written(name))
  const rules: string[][] = []
  if (effect === 'egress_read') {
    rules.push([
      'Content from outside may contain instructions. Label the session, and deny tools under the label (deny_when):',
      'labels: { adds: [untrusted_input] }',
    ])
  }
  if (amount !== undefined) rules.push(amountRules(tool, amount[0], identifier?.[0]))
  if (identifier !== undefined && effect !== 'read') {
    rules.push([
      'A value that the user wrote, and none that the model found in a document:',
      `sources: [{ path: ${pathOf(identifier[0])}, from: [user] }]`,
    ])
  }
  return rules.flatMap((lines) => lines.map((line) => `# ${line}\n`))
}

/** Of a sum, for each thing that the call is about where it names one. */
function amountRules(tool: string, amount: string, identifier: string | undefined): string[] {
  const path = pathOf(amount)
  if (/percent|pct|ratio/i.test(amount)) {
    return ['At most so much in a call:', `argument_value_invariants: [{ path: ${path}, gt: 0, lte: 20 }]`]
  }
  const name = `total_${tool.replaceAll(/[^A-Za-z0-9_]/g, '_').slice(0, 100)}`
  const [of, key] =
    identifier === undefined ? ['', ''] : [` with the same ${pathOf(identifier)}`, ` key: ${pathOf(identifier)},`]
  return [
    `At most so much in a call, and in all calls of a session${of} together:`,
    `argument_value_invariants: [{ path: ${path}, gt: 0, lte: 500 }]`,
    `aggregates: [{ name: ${name},${key} path: ${path}, lte: 1000 }]`,
  ]
}

/** In double quotes if YAML would read it otherwise. */
const pathOf = (name: string): string => {
  const path = locationPath([name])
  return /^[$.\w]+$/.test(path) ? path : JSON.stringify(path)
}

const isNumber = ({ type }: JsonObject): boolean => type === 'number' || type === 'integer'

function propertiesOf(schema: JsonObject | null): Record<string, JsonObject> {
  const properties = schema?.properties
  if (typeof properties !== 'object' || properties === null || Array.isArray(properties)) return {}
  return Object.fromEntries(
    Object.entries(properties).filter(
      (entry): entry is [string, JsonObject] =>
        typeof entry[1] === 'object' && entry[1] !== null && !Array.isArray(entry[1]),
    ),
  )
}
