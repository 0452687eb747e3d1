import { readdirSync } from 'node:fs'
import { compileSchema } from '@countersign/engine'
import type { JsonValue } from '@countersign/protocol'
import { expect, test } from 'vitest'
import { describeShared } from '../support/data/describe-shared.js'
import { readSharedJson } from '../support/data/shared-data.js'
import { JSON_SCHEMA_EXCEPTIONS } from './json-schema-exceptions.js'

interface SchemaGroup {
  description: string
  schema: JsonValue
  tests: { description: string; data: JsonValue; valid: boolean }[]
}

const SUITE = 'conformance/json-schema/tests/draft2020-12'

describeShared('JSON Schema 2020-12', SUITE, (folder) => {
  const names = readdirSync(folder).filter((name) => name.endsWith('.json'))

  test('the suite has its files', () => expect(names).toHaveLength(46))

  test.each(names)('%s: what differs is what is listed, for the reason listed', (name) => {
    const differing: Record<string, string> = {}
    for (const group of readSharedJson<SchemaGroup[]>(`${SUITE}/${name}`)) {
      const difference = differenceOf(group)
      if (difference !== null) differing[group.description] = reasonOf(difference)
    }
    expect(differing).toEqual(listed(name))
  })

  test('no schema of the suite accepts what the standard refuses', () => {
    for (const name of names) {
      for (const { description, schema, tests } of readSharedJson<SchemaGroup[]>(`${SUITE}/${name}`)) {
        const compiled = compileSchema(schema)
        if (!compiled.ok) continue
        for (const { data, valid } of tests) if (!valid) expect.soft(compiled.test(data), description).toBe(false)
      }
    }
  })
})

describeShared('JSON Schema formats', `${SUITE}/optional/format`, () => {
  test.each(['date', 'date-time', 'email', 'uri', 'uuid'])('%s', (format) => {
    const differing: string[] = []
    for (const group of readSharedJson<SchemaGroup[]>(`${SUITE}/optional/format/${format}.json`)) {
      const compiled = compileSchema(group.schema)
      for (const { description, data, valid } of group.tests) {
        if (!compiled.ok || compiled.test(data) !== valid) differing.push(description)
      }
    }
    expect(differing).toEqual(FORMAT_EXCEPTIONS[format] ?? [])
  })
})

/** Addresses that no mailbox of today has are refused; the inside of an IPv6 address is not looked at. */
const FORMAT_EXCEPTIONS: Record<string, string[]> = {
  email: [
    'a quoted string with a space in the local part is valid',
    'a quoted string with a double dot in the local part is valid',
    'a quoted string with a @ in the local part is valid',
    'an IPv4-address-literal after the @ is valid',
    'an IPv6-address-literal after the @ is valid',
  ],
  uri: ['leading zero in an embedded IPv4 address is invalid'],
}

/** Why a group is not judged as the suite says: the refusal of its schema, or the first wrong verdict. */
function differenceOf({ schema, tests }: SchemaGroup): string | null {
  const compiled = compileSchema(schema)
  if (!compiled.ok) return compiled.problem
  for (const { data, valid } of tests) {
    if (compiled.test(data) !== valid) return valid ? 'accepts less' : 'accepts more'
  }
  return null
}

function reasonOf(difference: string): string {
  const exception = JSON_SCHEMA_EXCEPTIONS.find(({ shows }) => shows.test(difference))
  return exception?.reason ?? difference
}

function listed(file: string): Record<string, string> {
  const groups: Record<string, string> = {}
  for (const { reason, files } of JSON_SCHEMA_EXCEPTIONS) {
    for (const group of files[file] ?? []) groups[group] = reason
  }
  return groups
}
