import { describe, expect, test, vi } from 'vitest'
import { provesWith } from './support/proves.js'

describe('proves', () => {
  // Called `cite` here, since the scan for citations would take `proves(` for real ones.
  const record = () => {
    const run = vi.fn()
    return { run, cite: provesWith(run as unknown as typeof test) }
  }
  const body = () => {}

  test('names the test by the sentence and the id of its row', () => {
    const { run, cite } = record()
    cite('label.never-removed', body)
    expect(run.mock.calls).toEqual([
      ['A label that a session has stays with it for good [label.never-removed]', {}, body],
    ])
  })

  test('takes several ids, a name of its own, and a timeout or options', () => {
    const { run, cite } = record()
    cite(['label.at-creation', 'label.by-endpoint'], 'labels arrive', body, 500)
    cite('label.at-creation', body, { retry: 1 })
    expect(run.mock.calls[0]).toEqual(['labels arrive [label.at-creation, label.by-endpoint]', { timeout: 500 }, body])
    expect(run.mock.calls[1]?.[1]).toEqual({ retry: 1 })
  })

  test('refuses to cite nothing', () => {
    expect(() => record().cite([], body)).toThrow('cites no requirement')
  })

  test('does not compile with an id that is not in the table', () => {
    const { cite } = record()
    // @ts-expect-error no such row
    cite('label.sometimes-removed', body)
  })

  const withAnswer = provesWith(test.extend<{ answer: number }>({ answer: 42 }))

  withAnswer('label.at-creation', 'hands fixtures on', ({ answer }) => expect(answer).toBe(42))

  test('does not compile with a fixture that is not there', () => {
    // @ts-expect-error no such fixture
    const misuse = () => withAnswer('label.at-creation', ({ question }) => expect(question).toBe(42))
    expect(misuse).toBeTypeOf('function')
  })
})
