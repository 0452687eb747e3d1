import { expect, test } from 'vitest'
import { runExample } from '../support/process/example.js'
import { withRuntime } from '../support/runtime/with-runtime.js'

const { runtime } = await withRuntime()

test('a researcher hands work to a payer; a poisoned mail that the first read is not acted on by the second', async () => {
  const apiUrl = await runtime.instances[0].listen()
  const output = await runExample('two-agent-handoff/main.ts', { apiUrl, apiKey: runtime.key })
  expect(output).toContain('from the books:  paid')
  expect(output).toContain('from an email:   not paid')
  const rows = await runtime.sql<{ role: string; labels: string[]; tools: string[] }[]>`
    select role, state::json -> 'labels' as labels, state::json -> 'committed' as tools
    from sessions join session_heads using (tenant_id, session_id) order by created_at`
  expect(rows.map(({ role, labels, tools }) => [role, labels, Object.keys(tools)])).toEqual([
    ['researcher', ['money_moved'], ['find_invoice']],
    ['payer', ['money_moved'], ['pay_invoice']],
    ['researcher', ['untrusted_input'], ['read_mail']],
    ['payer', ['untrusted_input'], ['draft_payment']],
  ])
  const states = await runtime.sql`select distinct state from handoffs`
  expect(states).toMatchObject([{ state: 'completed' }])
})
