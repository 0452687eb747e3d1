import type { PlanBacktest, RunView } from '@countersign/protocol'
import { describe, expect } from 'vitest'
import { noBrowser, settled } from '../support/browser/browser.js'
import { withFixturePages } from '../support/browser/fixture-pages.js'
import { proves } from '../support/proves.js'
import { DRAFT, dashboardFixtures, type Fixtures } from './stories/fixtures.js'

const trouble = noBrowser()

const LOOSER: PlanBacktest = {
  run_id: 'run_looser',
  created_at: '2026-01-01T00:00:00.000Z',
  sessions: 257,
  sessions_passed: 158,
  calls: 689,
  newly_allowed: 99,
  newly_blocked: 0,
  changed_calls: [
    { tool_name: 'issue_refund', side_effect: 'financial', newly_allowed: 99, asked: 12, newly_blocked: 0 },
  ],
  not_judged: { sources: 337 },
}

/** The draft, with what is known of its backtests at that moment. */
function draftWith(known: { backtest: PlanBacktest | null; backtest_under_way: boolean }): Fixtures {
  const fixtures = dashboardFixtures(new Date())
  return {
    ...fixtures,
    loadPlan: (asked) => {
      const detail = fixtures.loadPlan?.(asked) ?? 404
      return typeof detail === 'number' ? detail : { ...detail, ...known }
    },
  }
}

describe.skipIf(trouble !== null)(`the review of a draft${trouble === null ? '' : ` (skipped: ${trouble})`}`, () => {
  const { server, newPage } = withFixturePages()

  proves('people.review.effect-first', async () => {
    const { page } = await newPage()
    const visit = async (backtest: PlanBacktest | null) => {
      server().use(draftWith({ backtest, backtest_under_way: false }))
      await page.goto('about:blank')
      await page.goto(`${server().url}/plans/${DRAFT}`)
      await settled(page)
      return page.locator('section', { has: page.getByRole('heading', { name: 'Effect on captured sessions' }) })
    }
    const effect = await visit(LOOSER)
    const headings = await page.getByRole('heading', { level: 2 }).allInnerTexts()
    expect(headings[0]).toBe('Effect on captured sessions')
    expect(headings).toContain('What approval would change')
    expect(await effect.locator('li').allInnerTexts()).toEqual([
      '99 calls that were blocked would run: 99 of issue_refund (financial). A person would be asked first about 12 of them.',
      'No allowed call would be blocked.',
      'Source rules could not be tried on 337 of 689 calls. What they read was not captured.',
    ])
    const classOf = () => effect.locator('[data-effect="run"]').getAttribute('class')
    expect(await classOf()).toBe('effect-block')
    const [refunds] = LOOSER.changed_calls
    if (refunds === undefined) throw new Error('nothing gets looser')
    await visit({ ...LOOSER, changed_calls: [{ ...refunds, side_effect: 'write' }] })
    expect(await classOf()).toBe('effect-warn')
    await visit({ ...LOOSER, newly_allowed: 0, newly_blocked: 3, changed_calls: [] })
    expect(await classOf()).toBeNull()
    expect(await effect.locator('li').allInnerTexts()).toContain('No blocked call would run.')
    expect(await (await visit(null)).innerText()).toContain('No backtest of this version has finished.')
  })

  proves('people.review.evidence', 'the dialog cites a backtest that ended while the page was open', async () => {
    const { page } = await newPage()
    const known: Parameters<typeof draftWith>[0] = { backtest: null, backtest_under_way: false }
    const fixtures = draftWith(known)
    const recorded = fixtures.loadRunDetail?.({})
    if (recorded === undefined || typeof recorded === 'number') throw new Error('no run was recorded')
    const run: RunView = { ...recorded.run, run_id: LOOSER.run_id, status: 'running', report: null }
    const sent: unknown[] = []
    let state: 'untried' | 'running' | 'done' = 'untried'
    const now = () => (state === 'done' ? { ...recorded.run, run_id: run.run_id } : run)
    server().use({
      ...fixtures,
      listRuns: () => ({ items: state === 'untried' ? [] : [now()], next: null }),
      startRun: () => {
        state = 'running'
        known.backtest_under_way = true
        return { ...recorded, run }
      },
      loadRunDetail: () => ({ ...recorded, run: now() }),
      approvePlan: (asked) => {
        sent.push(asked.body)
        return fixtures.approvePlan?.(asked) ?? 404
      },
    })
    await page.goto(`${server().url}/plans/${DRAFT}`)
    const dialog = page.getByRole('dialog', { name: 'Approve this plan?' })
    const said = async () => {
      await page.getByRole('button', { name: 'Approve' }).click()
      const words = await dialog.locator('.quiet').innerText()
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      return words
    }
    await page.getByRole('button', { name: /^Run/ }).waitFor()
    expect(await said()).toContain('was not tried on captured sessions')
    await page.getByRole('button', { name: /^Run/ }).click()
    await expect.poll(said).toContain('A backtest of this version is under way')
    Object.assign(known, { backtest: LOOSER, backtest_under_way: false })
    state = 'done'
    await page.getByText('Sessions unchanged').waitFor()
    await expect
      .poll(said)
      .toContain('Its newest backtest is recorded with the decision: 99 sessions of 257 would change')
    await page.getByRole('button', { name: 'Approve' }).click()
    await dialog.getByLabel(/Reason/).fill('agreed')
    await dialog.getByRole('button', { name: 'Approve plan' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(sent).toEqual([{ why: 'agreed', compiled_hash: expect.any(String) }])
  })
})
