import { expect, test } from 'vitest'
import { mergeFiles } from './merge-files.js'

const files = (texts: Record<string, string>) => Object.entries(texts).map(([file, text]) => ({ file, text }))

test('edits of different files come together, and edits of the same file are shown side by side', () => {
  const base = files({ a: '1', b: '1', c: '1' })
  expect(mergeFiles(base, files({ a: '2', b: '1', c: '1' }), files({ a: '1', b: '2', c: '1' }))).toEqual(
    files({ a: '2', b: '2', c: '1' }),
  )
  expect(mergeFiles(base, files({ a: '2', b: '1', c: '1' }), files({ a: '3', b: '1', c: '1' }))).toEqual([
    { file: 'a', text: '2', theirs: '3' },
    ...files({ b: '1', c: '1' }),
  ])
  expect(mergeFiles(base, files({ a: '2', b: '1', c: '1' }), files({ a: '2', b: '1', c: '1' }))).toEqual(
    files({ a: '2', b: '1', c: '1' }),
  )
})

test('files that were added or removed on either side stay so', () => {
  const base = files({ a: '1', b: '1' })
  expect(mergeFiles(base, files({ a: '1', b: '1', d: '1' }), files({ a: '1' }))).toEqual(files({ a: '1', d: '1' }))
  expect(mergeFiles(base, files({ a: '1' }), base)).toEqual(files({ a: '1' }))
  expect(mergeFiles(base, files({ a: '2', b: '1' }), files({ b: '1' }))).toEqual([
    ...files({ b: '1' }),
    { file: 'a', text: '2', theirs: null },
  ])
})
