import type { AuditEntry } from '@countersign/protocol'
import { expect } from 'vitest'
import { auditCsv } from '../packages/dashboard/src/pages/audit/audit-csv.js'
import { proves } from './support/proves.js'

const ENTRY: AuditEntry = {
  audit_id: '1',
  at: '2026-01-01T00:00:00.000Z',
  action: 'plan_approved',
  actor: 'ana@example.test',
  signed_in_by: 'password',
  key: null,
  ip: '198.51.100.7',
  subject: 'pl_1',
  detail: null,
}
const lineFor = (changed: Partial<AuditEntry>): string => {
  const [head, ...lines] = auditCsv([{ ...ENTRY, ...changed }]).split('\r\n')
  expect(head).toBe('time,action,who,signed_in_by,key_name,key_prefix,ip,subject,detail')
  return lines.join('\r\n')
}
const START = '2026-01-01T00:00:00.000Z,plan_approved,ana@example.test,password,,,198.51.100.7,pl_1,'

proves('people.audit.csv', 'commas, quotes and line breaks stay in their cell', () => {
  expect(lineFor({})).toBe(`${START}\r\n`)
  expect(lineFor({ detail: 'agreed, with "finance"\nyesterday' })).toBe(
    `${START}"agreed, with ""finance""\nyesterday"\r\n`,
  )
  const key = { key_id: 'key_1', name: 'nightly', prefix: 'csk_bmV3' }
  expect(lineFor({ actor: null, signed_in_by: null, key })).toContain('plan_approved,,,nightly,csk_bmV3,')
})

proves('people.audit.no-formulas', () => {
  for (const formula of ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '\n=1', '=HYPERLINK("http://evil.example")']) {
    const cell = lineFor({ detail: formula }).slice(START.length)
    expect([formula, /^"?'/.test(cell)]).toEqual([formula, true])
  }
  expect(lineFor({ subject: 'a=1' })).toContain(',a=1,')
})
