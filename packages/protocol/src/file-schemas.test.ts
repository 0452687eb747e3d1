import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Ajv } from 'ajv'
import { describe, expect, test } from 'vitest'
import { proves } from '../../../test/support/proves.js'
import { contractSchema, sessionDefinitionSchema } from './contract/contract.js'
import { storyFileSchema } from './contract/story.js'
import { FILE_NAMES, fileSchema } from './file-schemas.js'

const PARSERS = { contract: contractSchema, session: sessionDefinitionSchema, test: storyFileSchema }
const CASES = new URL('../../../test/cases/', import.meta.url)

interface Pack {
  readonly contracts?: readonly object[]
  readonly session?: object
}
const packs = readdirSync(CASES)
  .filter((file) => file.endsWith('.json'))
  .flatMap((file): Pack[] => JSON.parse(readFileSync(new URL(file, CASES), 'utf8')).cases)

const STORIES = {
  stories: [
    {
      name: 'one',
      labels: ['tainted'],
      principal: { role: 'agent' },
      steps: [
        { call: 'pay', with: { amount: 1 }, expect: 'ask', answer: 'deny', at: '2026-11-16T08:00:00Z' },
        { call: 'pay', expect: 'block', reason: 'killed', path: '$.amount', hidden: ['pay'], user: 'pay' },
        { call: 'pay', result: [1], fails: true, expect: 'allow' },
      ],
    },
  ],
}

const SAMPLES: Record<(typeof FILE_NAMES)[number], readonly object[]> = {
  contract: ofEachKind(packs.flatMap(({ contracts }) => contracts ?? [])),
  session: ofEachKind(packs.flatMap(({ session }) => session ?? [])),
  test: [STORIES],
}

/** Those that have a key which none before them had. */
function ofEachKind(samples: readonly object[]): object[] {
  const seen = new Set<string>()
  return samples.filter((sample) => {
    const before = seen.size
    for (const [key] of JSON.stringify(sample).matchAll(/"\w+":/g)) seen.add(key)
    return seen.size > before
  })
}

type Part = Record<string, unknown> | unknown[]
const isPart = (value: unknown): value is Part => typeof value === 'object' && value !== null

/** The sample with one thing wrong or missing, at every place in turn. */
function* damaged(sample: object): Generator<object> {
  const places: string[][] = [[]]
  for (const place of places) {
    const part = at(sample, place)
    if (!isPart(part)) continue
    for (const key of Object.keys(part)) places.push([...place, key])
    if (!Array.isArray(part)) yield changed(sample, place, (object) => Object.assign(object, { unheard_of: 1 }))
    for (const key of Object.keys(part)) {
      if (!Array.isArray(part)) yield changed(sample, place, (object) => Reflect.deleteProperty(object, key))
      for (const other of OTHERS) yield changed(sample, place, (object) => Object.assign(object, { [key]: other }))
    }
  }
}
const OTHERS = [null, true, -1.5, 'x y', [], {}]

const at = (value: object, place: readonly string[]): unknown =>
  place.reduce<unknown>((part, key) => (part as Record<string, unknown>)[key], value)

function changed(sample: object, place: readonly string[], change: (part: object) => unknown): object {
  const copy = structuredClone(sample)
  change(at(copy, place) as object)
  return copy
}

describe.each(FILE_NAMES)('the schema of %s', (name) => {
  const accepts = new Ajv({ strict: false, formats: { 'date-time': true } }).compile(fileSchema(name))

  proves(['contract.schemas'], `takes and refuses what the compiler does: ${name}`, () => {
    const seen = new Set<string>()
    const wrong: object[] = []
    for (const sample of SAMPLES[name]) {
      for (const document of [sample, ...damaged(sample)]) {
        const text = JSON.stringify(document)
        if (seen.has(text)) continue
        seen.add(text)
        if (accepts(document) !== PARSERS[name].safeParse(document).success) wrong.push(document)
      }
    }
    expect(seen.size).toBeGreaterThan(50)
    expect(wrong).toEqual([])
  })

  test('says of every key what it means', () => {
    const { properties } = fileSchema(name) as { properties: Record<string, { description?: string }> }
    const keys = Object.keys(PARSERS[name].shape)
    expect(Object.keys(properties)).toEqual(keys)
    for (const key of keys) expect(properties[key]?.description, key).toBeTypeOf('string')
  })

  test('is published with the package', () => {
    const published = createRequire(import.meta.url)(`@countersign/protocol/schemas/${name}.schema.json`)
    expect(published).toEqual(fileSchema(name))
  })
})
