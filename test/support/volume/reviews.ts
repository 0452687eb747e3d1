import type { PlanDetail } from '@countersign/protocol'
import type { Volume } from './volume.js'

const HOUR_MS = 3_600_000

const refundFile = (most: number) => ({
  file: 'contracts/issue_refund.yaml',
  text: `tool: issue_refund\nside_effect: financial\ngate: allow\npreconditions:\n  - requires_prior_tool: lookup_order\nargument_value_invariants:\n  - { path: $.amount, gt: 0, lte: ${most} }\n`,
})
const LOOKUP_FILE = { file: 'contracts/lookup_order.yaml', text: 'tool: lookup_order\nside_effect: read\n' }
const PAY_FILES = ['look_up', 'pay', 'read_document'].map((tool) => ({
  file: `contracts/${tool}.yaml`,
  text: `tool: ${tool}\nside_effect: ${tool === 'pay' ? 'financial' : 'read'}\n${tool === 'pay' ? 'gate: allow\n' : ''}`,
}))

/** Plans in every state, with edits, backtests and reasons. Returns how long ago each should have been. */
export async function reviewPlans(volume: Volume): Promise<ReadonlyMap<string, number>> {
  const { person } = volume
  const ages = new Map<string, number>()
  const submit = async (
    agent: string,
    environment: 'production' | 'staging' | 'development',
    files: PlanDetail['files'],
  ) => {
    const { status, body, problem } = await volume.api.submitPlan({ body: { agent, environment, files } })
    if (status !== 201) throw new Error(`a plan was refused: ${JSON.stringify(problem)}`)
    return body
  }
  const decide = (move: 'approvePlan' | 'rejectPlan', { plan }: PlanDetail, why: string) =>
    person.call(move, { params: { plan_id: plan.plan_id }, body: { why } })

  // The learned contracts of the observed agent, tried on its conversations and approved.
  const learned = await person.call('draftPlan', { body: { agent: 'newsletter', environment: 'production' } })
  if (learned.status === 201) {
    await backtest(volume, learned.body)
    await decide('approvePlan', learned.body, 'Reads and writes what it should')
    ages.set(learned.body.plan.plan_id, 9 * 24 * HOUR_MS)
  }

  const rejected = await submit('support', 'staging', [refundFile(5_000), LOOKUP_FILE])
  await decide('rejectPlan', rejected, 'Refunds of 5,000 need another rule')
  ages.set(rejected.plan.plan_id, 12 * 24 * HOUR_MS)

  const running = await submit('billing-ops', 'production', PAY_FILES)
  await decide('approvePlan', running, 'As the pilot ran')
  ages.set(running.plan.plan_id, 20 * 24 * HOUR_MS)

  // Waits for its review: narrower than what runs, edited once, tried.
  const narrower = PAY_FILES.map(({ file, text }) => ({
    file,
    text: file.includes('pay')
      ? `${text}argument_value_invariants:\n  - { path: $.invoice, starts_with: inv-case-1042 }\n`
      : text,
  }))
  const draft = await submit('billing-ops', 'production', PAY_FILES)
  const extra = { file: 'contracts/lookup_order.yaml', text: 'tool: lookup_order\nside_effect: read\n' }
  const refunds = {
    file: 'contracts/issue_refund.yaml',
    text: 'tool: issue_refund\nside_effect: financial\ngate: block\n',
  }
  const edited = await person.call('editPlan', {
    params: { plan_id: draft.plan.plan_id },
    body: { files: [...narrower, extra, refunds], compiled_hash: draft.plan.compiled_hash },
  })
  if (edited.status !== 200) throw new Error(`an edit was refused: ${edited.text}`)
  await backtest(volume, edited.body)
  ages.set(draft.plan.plan_id, 5 * HOUR_MS)

  // Cannot be approved: a tool in use has no contract.
  const finds = { file: 'contracts/find_person.yaml', text: 'tool: find_person\nside_effect: read\n' }
  const blocked = await submit('newsletter', 'staging', [finds])
  ages.set(blocked.plan.plan_id, 26 * HOUR_MS)
  return ages
}

/** A run of the plan on the captured sessions of its agent, until it is done. */
async function backtest(volume: Volume, { plan }: PlanDetail): Promise<void> {
  const { body } = await volume.person.call('startRun', { body: { plan_id: plan.plan_id } })
  for (let tries = 0; tries < 600; tries += 1) {
    const run = await volume.person.call('loadRunDetail', { params: { run_id: body.run.run_id } })
    if (run.body.run.status === 'done') return
    if (run.body.run.status === 'failed') throw new Error(`a backtest failed: ${run.body.run.error}`)
    await volume.settle()
    await new Promise((done) => setTimeout(done, 50))
  }
  throw new Error('a backtest did not end')
}
