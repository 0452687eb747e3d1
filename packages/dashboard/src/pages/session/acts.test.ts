import type { AuditEntry } from '@countersign/protocol'
import { expect, test } from 'vitest'
import { actBehind } from './acts.js'

const entry = (action: AuditEntry['action'], detail: string): AuditEntry => ({
  ...{
    audit_id: '1',
    at: '2026-01-01T00:00:00.000Z',
    signed_in_by: 'password',
    key: null,
    ip: null,
    subject: 'ses',
    actor: 'ada@example.test',
  },
  action,
  detail,
})

test('an event finds the entry of the audit trail that says who and why', () => {
  const acts = [entry('session_killed', 'strange'), entry('label_added', 'checked'), entry('workflow_killed', 'all')]
  expect(actBehind({ type: 'killed', body: { by: 'dashboard' } }, acts)?.detail).toBe('strange')
  expect(actBehind({ type: 'killed', body: { by: 'workflow' } }, acts)?.detail).toBe('all')
  expect(actBehind({ type: 'label', body: { label: 'checked' } }, acts)?.actor).toBe('ada@example.test')
  expect(actBehind({ type: 'label', body: { label: 'by a tool' } }, acts)).toBeNull()
  expect(actBehind({ type: 'created', body: {} }, acts)).toBeNull()
})
