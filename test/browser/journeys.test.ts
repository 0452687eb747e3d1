import { readFileSync, writeFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { verify } from '../../packages/cli/src/commands/verify.js'
import { ReplayContractError, ReplayKillError } from '../../packages/sdk/src/index.js'
import {
  launchBrowser,
  noBrowser,
  openPage,
  seriousIssues,
  settled,
  type WatchedPage,
} from '../support/browser/browser.js'
import { proves } from '../support/proves.js'
import { type Agent, calls, says, startAgent } from '../support/runtime/agent.js'
import { createMailbox } from '../support/runtime/mailbox.js'
import { type Runtime, startRuntime } from '../support/runtime/runtime.js'

const trouble = noBrowser()
const EMAIL = 'dana@northwind.example'
const PASSWORD = 'correct horse battery staple'

/** One person's way through the real service, with an agent that uses the real SDK. The tests follow one another. */
describe.skipIf(trouble !== null)(
  `a person at the dashboard${trouble === null ? '' : ` (skipped: ${trouble})`}`,
  () => {
    const mailbox = createMailbox()
    let browser: Browser
    let runtime: Runtime
    let agent: Agent
    let watched: WatchedPage
    let page: Page
    let url: string
    let apiKey = ''

    const CONTRACTS = [
      { tool: 'find_order', side_effect: 'read' as const },
      {
        tool: 'issue_refund',
        side_effect: 'financial' as const,
        gate: 'allow' as const,
        preconditions: [{ requires_prior_tool: 'find_order' }],
        argument_value_invariants: [{ path: '$.amount', gt: 0, lte: 500 }],
      },
    ]
    const start = (sessionId: string) =>
      agent.start({
        apiKey,
        sessionId,
        fetch: runtime.fetch,
        agent: 'support',
        contracts: CONTRACTS,
        tools: { find_order: () => ({ id: 'A-1042' }), issue_refund: () => ({ ok: true }) },
      })
    const TOOLS = ['find_order', 'issue_refund']

    beforeAll(async () => {
      runtime = await startRuntime({ mailer: mailbox })
      url = await runtime.instances[0].listen()
      agent = await startAgent()
      browser = await launchBrowser()
      watched = await openPage(browser)
      page = watched.page
    })
    afterAll(async () => {
      await browser?.close()
      await agent?.close()
      await runtime?.close()
    })

    test('signs up, keeps the key that is shown once, and is asked to verify the address', async () => {
      await page.goto(url)
      await page.waitForURL(/\/sign-in$/)
      await page.getByRole('link', { name: 'Create an account' }).click()
      // The page before it has fields of the same names, and stays until this one has loaded.
      await page.getByRole('heading', { name: 'Create an account' }).waitFor()
      await page.getByLabel('Email').fill(EMAIL)
      await page.getByLabel('Password').fill(PASSWORD)
      await page.getByLabel(/Organisation/).fill('Northwind')
      await page.getByRole('button', { name: 'Create account' }).click()
      await page.getByRole('heading', { name: 'Your first API key' }).waitFor()
      apiKey = await page.locator('.new-key-value code').innerText()
      expect(apiKey).toMatch(/^csk_[\w-]{32}$/)
      await expect.poll(() => page.getByText(`export COUNTERSIGN_API_KEY=${apiKey}`).count()).toBe(1)
      await page.getByRole('button', { name: /go to the dashboard/ }).click()
      await page.getByText('Verify your email address.').waitFor()
      await page.getByRole('heading', { name: 'No activity yet' }).waitFor()
      await page.reload()
      await expect.poll(() => page.getByText(apiKey).count()).toBe(0)
    })

    test('verifies by the mailed link, whose token leaves the address', async () => {
      await runtime.instances[0].parts.accounts.mail.idle()
      await page.goto(`${url}/verify-email#token=${mailbox.tokenFor(EMAIL)}`)
      await page.getByRole('heading', { name: 'Your email address is verified' }).waitFor()
      expect(page.url()).not.toContain('token')
      await page.getByRole('link', { name: 'Go to the dashboard' }).click()
      await page.getByRole('heading', { name: 'No activity yet' }).waitFor()
      await expect.poll(() => page.getByText('Verify your email address.').count()).toBe(0)
    })

    test('sees the first governed call appear without reloading', async () => {
      // A free account may write 30 times a minute, and these tests together want more.
      await runtime.sql`update tenants set quota = 'scale'`
      const { ask, session } = start('case-1')
      agent.provider.enqueue(calls(['find_order', { order: 'A-1042' }, 'c1']))
      await ask(TOOLS)
      await session.tools?.find_order?.({ order: 'A-1042' }, { callId: 'c1' })
      await page.getByRole('img', { name: /Decisions over time: 1 allowed/ }).waitFor({ timeout: 120_000 })
      await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Sessions' }).click()
      await page.getByRole('link', { name: 'case-1' }).click()
      await page.getByText('Calls proposed and allowed').waitFor()
      await page.getByText('executed by the wrapper').waitFor()
      expect(await seriousIssues(page)).toEqual([])
    })

    test('sees why a call was blocked, down to the rule, and what to do', async () => {
      const { ask, session } = start('case-2')
      agent.provider.enqueue(calls(['find_order', { order: 'A-1042' }, 'c1']))
      await ask(TOOLS)
      await session.tools?.find_order?.({ order: 'A-1042' }, { callId: 'c1' })
      agent.provider.enqueue(calls(['issue_refund', { amount: 900 }, 'c2']))
      await expect(ask(TOOLS)).rejects.toBeInstanceOf(ReplayContractError)
      await page.goto(url)
      await page.locator('.row-link', { hasText: 'issue_refund' }).click()
      await page.waitForURL(/\/sessions\/case-2#call-\d+-0$/)
      const card = page.locator(`[id="${new URL(page.url()).hash.slice(1)}"]`)
      await card.waitFor()
      const text = await card.innerText()
      for (const part of [
        'Blocked',
        'issue_refund',
        'Argument value mismatch',
        'arguments.amount',
        'lte',
        '500',
        '900',
        'What to do',
      ]) {
        expect(text).toContain(part)
      }
    })

    test('verifies the ledger and takes the proof along', async () => {
      await page.getByRole('button', { name: 'Verify ledger' }).click()
      await page.getByText(/Verified: \d+ events/).waitFor()
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Download proof' }).click(),
      ])
      const file = await download.path()
      const printed: string[] = []
      const terminal = { print: (line: string) => printed.push(line), note: () => {} }
      expect(await page.getByText('npx countersign verify').innerText()).toContain(download.suggestedFilename())
      expect(await verify.run([file], terminal)).toBe(0)
      expect(printed.join()).toMatch(/^case-2: [0-9]+ events are intact/)
      const forged = readFileSync(file, 'utf8').replace(/"blocked"/, '"allowed"')
      writeFileSync(file, forged)
      expect(await verify.run([file], terminal)).toBe(1)
      expect(printed.at(-1)).toMatch(/^broken at event/)
    })

    test('erases the content: what was asked for is gone, what was decided stays and still verifies', async () => {
      await expect.poll(() => page.getByText('A-1042').count()).toBeGreaterThan(0)
      await page.getByRole('button', { name: 'Erase content' }).click()
      const dialog = page.getByRole('dialog', { name: 'Erase the content of this session?' })
      await dialog.getByRole('button', { name: 'Erase content' }).click()
      await dialog.waitFor({ state: 'detached' })
      await page.getByText('The arguments were not stored, were erased').first().waitFor()
      await expect.poll(() => page.getByText('A-1042').count()).toBe(0)
      await page.getByText('Argument value mismatch').first().waitFor()
      await page.getByRole('button', { name: 'Verify again' }).click()
      await page.getByText(/Verified: \d+ events/).waitFor()
    })

    test('labels a session for good; the timeline and the audit trail show it', async () => {
      await page.goto(`${url}/sessions/case-1`)
      await page.getByRole('button', { name: 'Add a label' }).click()
      const dialog = page.getByRole('dialog', { name: 'Add a label to this session?' })
      await dialog.getByLabel('Label').fill('not allowed')
      await dialog.getByRole('button', { name: 'Add label' }).click()
      expect(await dialog.isVisible()).toBe(true)
      await dialog.getByLabel('Label').fill('vip')
      await dialog.getByRole('button', { name: 'Add label' }).click()
      await dialog.waitFor({ state: 'detached' })
      await page.getByRole('link', { name: 'vip' }).waitFor()
      await page.getByRole('heading', { name: 'Label added' }).waitFor()
      const { body } = await runtime.api(apiKey).loadSession({ params: { session_id: 'case-1' } })
      expect(body.session.labels).toEqual(['vip'])
      await page.goto(`${url}/audit`)
      await page.locator('tbody').getByText('Label added').waitFor()
    })

    test('kills a session from the page, and the agent stops', async () => {
      const { ask } = start('case-3')
      agent.provider.answerWith(() => says('thinking'))
      await ask(TOOLS)
      await page.goto(`${url}/sessions/case-3`)
      await page.getByRole('button', { name: 'Kill session' }).click()
      const dialog = page.getByRole('dialog', { name: 'Kill this session?' })
      await dialog.getByLabel(/Reason/).fill('it repeats itself')
      await dialog.getByRole('button', { name: 'Kill session' }).click()
      await page.getByText('by a person, from the dashboard').waitFor()
      await expect(ask(TOOLS)).rejects.toBeInstanceOf(ReplayKillError)
      await expect.poll(() => page.getByRole('button', { name: 'Kill session' }).count()).toBe(0)
      await page.goto(`${url}/audit`)
      await page.locator('tbody').getByText('Session killed').waitFor()
    })

    test('makes a key and revokes it; the next request with it is refused', async () => {
      await page.goto(`${url}/keys`)
      await page.getByLabel('Name of the new key').fill('nightly <b>tests</b>')
      await page.getByRole('button', { name: 'Create key' }).click()
      const key = await page.locator('.new-key-value code').innerText()
      const ask = () => runtime.api(key).loadSession({ params: { session_id: 'case-1' } })
      expect((await ask()).status).toBe(200)
      const row = page.locator('.key-row', { hasText: 'nightly <b>tests</b>' })
      await row.getByRole('button', { name: 'Revoke' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Revoke key' }).click()
      await page.getByRole('heading', { name: 'Revoked' }).waitFor()
      expect((await ask()).status).toBe(401)
    })

    test('judges a response in the playground, rule by rule', async () => {
      await page.goto(`${url}/playground`)
      await page.getByRole('button', { name: 'Evaluate' }).click()
      await page.getByRole('heading', { name: 'Decisions' }).waitFor()
      const refund = page.locator('article', { hasText: 'issue_refund' })
      expect(await refund.innerText()).toContain('Argument value mismatch')
      expect(await refund.locator('.rung-first').innerText()).toContain('Argument value mismatch')
    })

    test('approves a plan with a reason, and from then on it is what the agent is governed by', async () => {
      const text =
        'tool: issue_refund\nside_effect: financial\ngate: allow\nargument_value_invariants:\n  - { path: $.amount, lte: 50 }\n'
      const files = [{ file: 'contracts/issue_refund.yaml', text }]
      const where = { agent: 'careful', environment: 'production' as const }
      const submitted = await runtime.api(apiKey).submitPlan({ body: { ...where, files } })
      expect(submitted.status).toBe(201)
      await page.goto(`${url}/plans`)
      await page.getByRole('link', { name: 'careful in production' }).click()
      await page.getByRole('heading', { name: 'What approval would change' }).waitFor()
      expect(await seriousIssues(page)).toEqual([])
      await page.getByRole('button', { name: 'Run a backtest' }).click()
      await page.getByText('Sessions unchanged').waitFor()
      await page.getByText(/^1 of 100K runs used$/).waitFor()
      await page.getByRole('button', { name: 'Approve' }).click()
      const dialog = page.getByRole('dialog', { name: 'Approve this plan?' })
      await dialog.getByLabel(/Reason/).fill('agreed with finance')
      await dialog.getByRole('button', { name: 'Approve plan' }).click()
      await page.getByText('agreed with finance').first().waitFor()
      const { body: found } = await runtime.api(apiKey).lookupPlan({ query: where })
      expect([found.status, found.compiled_hash]).toEqual(['approved', submitted.body.plan.compiled_hash])
    })

    test.each([
      ['/agents', 'Agents', 'support'],
      ['/limits', 'Limits and usage', 'Requests per minute'],
      ['/contracts', 'Contracts', 'What each tool may be called with'],
      ['/workflows', 'Workflows', 'No workflows yet'],
      ['/audit', 'Audit trail', 'Plan approved'],
    ])('%s answers from the service', async (path, heading, text) => {
      await page.goto(url + path)
      await page.getByRole('heading', { name: heading, exact: true }).waitFor()
      await page.getByText(text).filter({ visible: true }).first().waitFor()
      await settled(page)
      expect(await seriousIssues(page)).toEqual([])
    })

    proves(
      'account.dashboard-sessions',
      'signs out, is asked to sign in on the way to a page, and lands there',
      async () => {
        await page.getByRole('button', { name: 'Sign out' }).first().click()
        await page.waitForURL(/\/sign-in/)
        await page.goto(`${url}/sessions?status=KILLED`)
        await page.waitForURL(/\/sign-in\?next=/)
        await page.getByLabel('Email').fill(EMAIL)
        await page.getByLabel('Password').fill('not the password')
        await page.getByRole('button', { name: 'Sign in' }).click()
        await page.getByText('The email address or the password is wrong.').waitFor()
        await page.getByLabel('Password').fill(PASSWORD)
        await page.getByRole('button', { name: 'Sign in' }).click()
        await page.waitForURL(/\/sessions\?status=KILLED$/)
        await page.getByRole('link', { name: 'case-3' }).waitFor()
      },
    )

    test('sets a new password by mail, and signs in with it', async () => {
      const other = await openPage(browser)
      await other.page.goto(`${url}/forgot-password`)
      await other.page.getByLabel('Email').fill(EMAIL)
      await other.page.getByRole('button', { name: 'Get link' }).click()
      await other.page.getByRole('heading', { name: 'Check your email' }).waitFor()
      await runtime.instances[0].parts.accounts.mail.idle()
      await other.page.goto(`${url}/reset-password#token=${mailbox.tokenFor(EMAIL)}`)
      await other.page.getByLabel('New password').fill(`${PASSWORD} 2`)
      await other.page.getByLabel('Repeat password').fill(`${PASSWORD} 2`)
      await other.page.getByRole('button', { name: 'Set password' }).click()
      await other.page.getByRole('heading', { name: 'Your password was changed' }).waitFor()
      await other.page.getByRole('link', { name: 'Sign in' }).click()
      await other.page.getByRole('heading', { name: 'Sign in' }).waitFor()
      await other.page.getByLabel('Email').fill(EMAIL)
      await other.page.getByLabel('Password').fill(`${PASSWORD} 2`)
      await other.page.getByRole('button', { name: 'Sign in' }).click()
      await settled(other.page)
      await other.page.getByRole('heading', { name: 'Overview' }).waitFor()
    })

    test('and the browser had nothing to complain about but refused sign-ins', () => {
      expect(watched.complaints.filter((line) => !/status of 401/.test(line))).toEqual([])
    })
  },
)
