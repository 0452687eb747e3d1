import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { prepareContracts } from './contracts.js'
import { loadCompiled, loadContracts, loadPrepared } from './load-contracts.js'

const limit = (most: number) => `tool: pay\nargument_value_invariants: [{ path: $.amount, lte: ${most} }]\n`

function folderWith(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-contracts-'))
  writeFileSync(join(folder, 'pay.yaml'), text)
  return folder
}

function planOf(input: Parameters<typeof loadContracts>[0]) {
  const result = loadContracts(input, undefined)
  if (!result.ok) throw new Error('does not compile')
  return result.plan
}

describe('contracts for a session', () => {
  proves('option.contracts.compiled-once', () => {
    const folder = folderWith(limit(10))
    const first = planOf(folder)
    expect(planOf(folder)).toBe(first)
    expect(planOf(folderWith(limit(10)))).toBe(first)
    writeFileSync(join(folder, 'pay.yaml'), limit(11))
    expect(planOf(folder)).not.toBe(first)
    expect(planOf(folder).hash).not.toBe(first.hash)
  })

  test('are the same whether they come as the same objects or as equal ones', () => {
    const contract = (most: number) => ({ tool: 'pay', argument_value_invariants: [{ path: '$.amount', lte: most }] })
    expect(planOf([contract(3)])).toBe(planOf([contract(3)]))
    expect(planOf([contract(4)])).not.toBe(planOf([contract(3)]))
  })

  test('are not confused where JSON writes two values alike', () => {
    const contract = (value: unknown) => ({
      tool: 'pay',
      argument_value_invariants: [{ path: '$.amount', one_of: [value] }],
    })
    expect(loadContracts([contract(null)] as never, undefined).ok).toBe(true)
    expect(loadContracts([contract(Number.NaN)] as never, undefined).ok).toBe(false)
  })

  test('that do not compile say so every time', () => {
    const folder = folderWith('tool: pay\ninvariant: []\n')
    expect(loadContracts(folder, undefined).ok).toBe(false)
    expect(loadContracts(folder, undefined).ok).toBe(false)
  })

  test('that are prepared are used as they are', () => {
    const prepared = prepareContracts(folderWith(limit(10)))
    expect(loadPrepared(prepared)).toEqual({ ok: true, plan: prepared.plan })
  })

  test('that a server approved are prepared once, by hash', () => {
    const { compiled_session, compiled_hash } = prepareContracts(folderWith(limit(12)))
    const first = loadCompiled(compiled_session, compiled_hash)
    expect(loadCompiled(structuredClone(compiled_session), compiled_hash)).toBe(first)
    // Another plan under the hash of this one is seen for what it is.
    const other = prepareContracts(folderWith(limit(13)))
    const wrong = loadCompiled(other.compiled_session, compiled_hash)
    expect(wrong).toMatchObject({ ok: true, plan: { hash: other.compiled_hash } })
  })
})
