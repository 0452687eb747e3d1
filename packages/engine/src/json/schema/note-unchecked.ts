import { FORMATS } from './formats.js'

type Place = readonly (string | number)[]

/** Notes keywords of a JSON Schema that look like checks but check nothing, or something else. */
export function noteUnchecked(
  schema: unknown,
  at: Place,
  note: (path: Place, message: string, fix: string) => void,
): void {
  if (typeof schema !== 'object' || schema === null) return
  const given = new Map(Object.entries(schema))
  for (const [key, value] of given) {
    const path = [...at, Array.isArray(schema) ? Number(key) : key]
    if (key === 'format' && typeof value === 'string' && !FORMATS.has(value)) {
      note(
        path,
        `the format "${value}" is not checked`,
        `use a \`pattern\`, or one of ${[...FORMATS.keys()].join(', ')}`,
      )
    } else if (CONTENT.has(key) && typeof value !== 'object') {
      note(path, `\`${key}\` is stored but not checked`, 'do not rely on it')
    } else if (BOUNDS.has(key) && typeof value === 'number' && !TYPING.some((typing) => given.has(typing))) {
      note(path, `\`${key}\` applies to numbers only: text passes`, 'add `type: number`')
    } else if (!VALUES.has(key)) noteUnchecked(value, path, note)
  }
}

const CONTENT = new Set(['contentEncoding', 'contentMediaType'])
const BOUNDS = new Set(['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'])
const TYPING = ['type', 'const', 'enum', '$ref']
/** Values below these keywords are not schemas. */
const VALUES = new Set(['const', 'enum', 'default', 'examples'])
