import { compilePath } from '@countersign/engine'
import type { JsonValue } from '@countersign/protocol'
import { expect, test } from 'vitest'
import { describeShared } from '../support/data/describe-shared.js'
import { readSharedJson } from '../support/data/shared-data.js'

interface PathCase {
  name: string
  selector: string
  invalid_selector?: true
  document?: JsonValue
  result?: JsonValue[]
  results?: JsonValue[][]
  result_paths?: string[]
  results_paths?: string[][]
}

const SUITE = 'conformance/jsonpath/cts.json'

describeShared('RFC 9535 compliance suite', SUITE, () => {
  const { tests } = readSharedJson<{ tests: PathCase[] }>(SUITE)

  test('the suite has its 703 cases', () => expect(tests).toHaveLength(703))

  test.each(tests.map((each) => [each.name, each] as const))('%s', (_name, each) => {
    const compiled = compilePath(each.selector, { unlimited: true })
    expect(compiled.ok).toBe(each.invalid_selector !== true)
    if (!compiled.ok || each.document === undefined) return
    const { path } = compiled
    const nodes = path.nodes(each.document)
    const values = path.find(each.document)
    const paths = nodes.map((node) => normalizedPath(node.location))
    const results = each.results ?? [each.result]
    const resultPaths = each.results_paths ?? [each.result_paths]

    expect(results).toContainEqual(values)
    expect(resultPaths).toContainEqual(paths)
    expect(nodes.map((node) => node.value)).toEqual(values)
    expect(path.first(each.document)).toEqual(values[0])
    for (const node of nodes) {
      const back = compilePath(node.path)
      expect(back.ok && back.path.singular && back.path.find(each.document)).toEqual([node.value])
    }
  })
})

/** The one spelling of a location that RFC 9535 calls normalized. */
function normalizedPath(location: readonly (string | number)[]): string {
  const quote = (name: string) => JSON.stringify(name).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")
  return `$${location.map((step) => (typeof step === 'number' ? `[${step}]` : `['${quote(step)}']`)).join('')}`
}
