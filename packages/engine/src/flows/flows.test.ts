import { describe, expect, test } from 'vitest'
import { flowOf } from './flows.js'
import { newTrail, sawCall, sawResult, sawUser, TRAIL_LIMITS, type Trail, takeColumns } from './trail.js'

const sourcesIn = (trail: Trail, value: string) =>
  flowOf(trail, { id: 'c', tool: 'act', arguments: { to: value } }).leaves[0]?.sources.map((source) =>
    source.seen === 'user' ? 'user' : `${source.seen} ${source.tool} ${source.path}`,
  )

describe('where a value was seen before', () => {
  const rows = [
    { name: 'the user’s words', value: 'Alice', expected: ['user'] },
    { name: 'a whole cell of a list', value: 'bob@example.com', expected: ['cell contacts $[*].email'] },
    { name: 'a line of free text', value: 'DE89370400440532013000', expected: ['line read_file $'] },
    { name: 'amid free text', value: 'www.evil-site.com', expected: ['prose read_file $'] },
    { name: 'an argument of an earlier call', value: 'invoice-7', expected: ['argument open $.id'] },
    { name: 'nowhere', value: 'Zoe', expected: [] },
    { name: 'part of a word only', value: 'lic', expected: [] },
    { name: 'part of an address only', value: 'example.com', expected: [] },
  ]
  const trail = newTrail()
  sawUser(trail, 'Please write to Alice about the bill.')
  sawCall(trail, 'open', { id: 'invoice-7' })
  sawResult(trail, 'contacts', JSON.stringify([{ name: 'Bob', email: 'bob@example.com' }]))
  sawResult(
    trail,
    'read_file',
    'Dear tenant, please pay soon.\nIBAN: DE89370400440532013000\nVisit https://www.evil-site.com/ for details, thanks.',
  )
  test.each(rows)('finds it in $name', ({ value, expected }) => {
    expect(sourcesIn(trail, value)).toEqual(expected)
  })

  test('names the first place first', () => {
    const later = newTrail()
    sawResult(later, 'second', [{ user: 'Kim' }])
    sawUser(later, 'ask Kim')
    expect(sourcesIn(later, 'Kim')).toEqual(['cell second $[*].user', 'user'])
  })

  test('compares addresses without scheme, www, case and trailing slash', () => {
    const web = newTrail()
    sawUser(web, 'Read www.Example.org/news please')
    expect(sourcesIn(web, 'https://example.org/news/')).toEqual(['user'])
  })

  test('does not take a failed call’s message for a table', () => {
    const failing = newTrail()
    sawResult(failing, 'find', '- Kim', { failed: true })
    expect(sourcesIn(failing, 'Kim')).toEqual(['line find $'])
    expect(takeColumns(failing)).toEqual([])
  })
})

describe('a flow holds no content', () => {
  test('writes * for keys that may be data', () => {
    const trail = newTrail()
    sawResult(trail, 'prices', { 'Le Marais Boutique': '120 EUR', 'Good Night': '80 EUR' })
    sawResult(trail, 'people', { Alice: 'alice@example.com', Bob: 'bob@example.com' })
    const written = JSON.stringify([
      takeColumns(trail),
      flowOf(trail, { id: '', tool: 't', arguments: { to: 'Good Night' } }),
    ])
    for (const secret of ['Marais', 'Good', 'Alice', 'alice']) expect(written).not.toContain(secret)
    expect(sourcesIn(trail, 'Good Night')).toEqual(['key prices $.*'])
  })

  test('keeps the names of a record’s fields', () => {
    const trail = newTrail()
    sawResult(trail, 'me', { 'First Name': 'Ann', 'Phone Number': '00441234567890', Email: 'ann@example.com' })
    expect(takeColumns(trail).map(({ path }) => path)).toEqual(["$['First Name']", "$['Phone Number']", '$.Email'])
  })
})

describe('addresses and identifiers inside text', () => {
  test('are traced one by one', () => {
    const trail = newTrail()
    sawUser(trail, 'mail the news of example.org')
    const { leaves } = flowOf(trail, {
      id: '',
      tool: 'send',
      arguments: { body: 'See example.org, and pay to DE89370400440532013000. The 2 of us paid 30.50 on 2024-01-02.' },
    })
    expect(leaves[0]?.tokens).toEqual([
      { kind: 'url', sources: [{ seen: 'user' }] },
      { kind: 'id', sources: [] },
    ])
  })
})

describe('bounds', () => {
  test('says that it is incomplete once text had to be left out', () => {
    const trail = newTrail()
    const text = 'word '.repeat(1_000)
    for (let size = 0; size <= TRAIL_LIMITS.characters; size += text.length) sawResult(trail, 'read', `${text}${size}`)
    expect(trail.characters).toBeLessThanOrEqual(TRAIL_LIMITS.characters)
    expect(flowOf(trail, { id: '', tool: 't', arguments: { a: 'x' } }).incomplete).toBe(true)
  })

  test('reads a result that is deep, wide, cut off or a bomb', () => {
    const trail = newTrail()
    let deep: unknown = 'x'
    for (let level = 0; level < 5_000; level++) deep = [deep]
    sawResult(trail, 'deep', deep)
    sawResult(trail, 'wide', Object.fromEntries(Array.from({ length: 30_000 }, (_, at) => [`key ${at}`, at])))
    sawResult(trail, 'cut', '{"a": [1, 2')
    sawResult(trail, 'bomb', 'a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]')
    expect(flowOf(trail, { id: '', tool: 't', arguments: { a: 'key 3' } }).incomplete).toBe(true)
  })
})
