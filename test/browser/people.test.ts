import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { launchBrowser, noBrowser, openPage, seriousIssues, settled } from '../support/browser/browser.js'
import { withFixturePages } from '../support/browser/fixture-pages.js'
import { proves } from '../support/proves.js'
import { createMailbox } from '../support/runtime/mailbox.js'
import { type Runtime, startRuntime } from '../support/runtime/runtime.js'
import { newOwner } from '../support/runtime/team.js'

const trouble = noBrowser()
const BEN = 'ben@northwind.example'
/** A spreadsheet would take this address for a formula. */
const FORMULA = '=1+1@northwind.example'
const PASSWORD = 'correct horse battery staple'

/** An owner and those they let in, each in a browser of their own, on the real service. The tests follow one another. */
describe.skipIf(trouble !== null)(`people of a tenant${trouble === null ? '' : ` (skipped: ${trouble})`}`, () => {
  const mailbox = createMailbox()
  let browser: Browser
  let runtime: Runtime
  let owner: Awaited<ReturnType<typeof newOwner>>
  let page: Page
  let ben: Page
  let url: string
  let planPath = ''

  const signIn = async (at: Page, email: string, password: string) => {
    await at.goto(`${url}/sign-in`)
    await at.getByLabel('Email').fill(email)
    await at.getByLabel('Password').fill(password)
    await at.getByRole('button', { name: 'Sign in' }).click()
    await at.getByRole('heading', { name: 'Overview' }).waitFor()
  }
  const memberRow = (email: string) => page.locator('.members tbody tr', { hasText: email })
  /** The answer to a dialog of the owner's page. */
  const confirm = async (title: string, button: string) => {
    const dialog = page.getByRole('dialog', { name: title })
    await dialog.getByRole('button', { name: button }).click()
    await dialog.waitFor({ state: 'detached' })
  }

  beforeAll(async () => {
    runtime = await startRuntime({ mailer: mailbox })
    owner = await newOwner(runtime, mailbox)
    await runtime.sql`update tenants set quota = 'scale'`
    const files = [{ file: 'contracts/refund.yaml', text: 'tool: refund\nside_effect: financial\ngate: allow\n' }]
    const submitted = await runtime
      .api(owner.key)
      .submitPlan({ body: { agent: 'support', environment: 'production', files } })
    planPath = `/plans/${submitted.body.plan.plan_id}`
    url = await runtime.instances[0].listen()
    browser = await launchBrowser()
    page = (await openPage(browser)).page
    ben = (await openPage(browser)).page
    await signIn(page, owner.email, owner.password)
  })
  afterAll(async () => {
    await browser?.close()
    await runtime?.close()
  })

  proves(['people.pages.members', 'people.pages.join'], 'an owner invites, and the mailed link leads in', async () => {
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Members' }).click()
    await page.getByLabel('Email').fill(BEN)
    await page.getByLabel('Role').selectOption('approver')
    await page.getByLabel(/Groups/).fill('Finance, on-call')
    await page.getByRole('button', { name: 'Invite', exact: true }).click()
    await page.getByText(`The link is sent to ${BEN}.`).waitFor()
    await page.getByRole('list', { name: 'Open invitations' }).getByText('in finance, on-call').waitFor()
    await runtime.instances[0].parts.accounts.mail.idle()
    const link = `${url}/join#token=${mailbox.tokenFor(BEN)}`
    await ben.goto(link)
    await ben.getByRole('heading', { name: /^Join / }).waitFor()
    expect(ben.url()).not.toContain('token')
    await ben.getByText(`${owner.email} invites you as an approver`).waitFor()
    expect(await ben.getByLabel('Email').inputValue()).toBe(BEN)
    await ben.getByLabel('Your name').fill('Ben')
    await ben.getByLabel('Password').fill(PASSWORD)
    await ben.getByRole('button', { name: 'Join' }).click()
    await ben.getByRole('heading', { name: 'Overview' }).waitFor()
    const stranger = (await openPage(browser)).page
    await stranger.goto(link)
    await stranger.getByRole('heading', { name: 'This invitation is no longer valid' }).waitFor()
    await page.reload()
    expect(await memberRow(BEN).innerText()).toMatch(/Ben[\s\S]*approver[\s\S]*finance, on-call[\s\S]*by an invitation/)
    expect(await page.getByRole('list', { name: 'Open invitations' }).count()).toBe(0)
    expect(await seriousIssues(page)).toEqual([])
  })

  proves('people.pages.members', 'an invitation is revoked, and the last owner stays', async () => {
    await page.getByLabel('Email').fill(FORMULA)
    await page.getByRole('button', { name: 'Invite', exact: true }).click()
    await page.getByRole('button', { name: `Revoke the invitation of ${FORMULA}` }).click()
    await page.getByRole('list', { name: 'Open invitations' }).waitFor({ state: 'detached' })
    expect(
      await memberRow(owner.email)
        .getByRole('button', { name: /^(Disable|Remove)/ })
        .count(),
    ).toBe(0)
    await page.getByRole('button', { name: `Change ${owner.email}` }).click()
    const dialog = page.getByRole('dialog', { name: 'Change role and groups' })
    expect(await dialog.getByLabel('Role').isDisabled()).toBe(true)
    await dialog.getByText('Make another member an owner first.').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
  })

  proves('people.pages.by-role', 'an approver, who becomes a viewer while the page is open', async () => {
    const links = () => ben.getByRole('navigation', { name: 'Pages' }).getByRole('link').allInnerTexts()
    expect(await links()).toContain('Limits and usage')
    for (const hidden of ['Members', 'API keys', 'Audit trail']) expect(await links()).not.toContain(hidden)
    await ben.goto(`${url}/keys`)
    await ben.getByText('This takes the role owner; yours is approver.').waitFor()
    await ben.goto(url + planPath)
    await ben.getByText('An owner can approve this plan.').waitFor()
    expect(await ben.getByRole('button', { name: /^(Approve|Reject)$/ }).count()).toBe(0)
    expect(await ben.getByRole('button', { name: 'Edit' }).count()).toBe(1)
    await ben.getByRole('button', { name: 'Run a backtest' }).waitFor()

    await page.getByRole('button', { name: `Change ${BEN}` }).click()
    await page.getByRole('dialog').getByLabel('Role').selectOption('viewer')
    await confirm('Change role and groups', 'Save')
    await expect.poll(() => memberRow(BEN).innerText()).toContain('viewer')
    // The page may have learned it by itself by now, and the button be gone.
    await ben
      .getByRole('button', { name: 'Run a backtest' })
      .click({ timeout: 3_000 })
      .catch(() => {})
    await ben.getByText('You are a viewer now.').waitFor()
    await ben.getByText('An approver can run it.').waitFor()
    expect(await ben.getByRole('button', { name: 'Edit' }).count()).toBe(0)
    expect(await seriousIssues(ben)).toEqual([])
  })

  proves(
    ['people.pages.by-role', 'people.pages.members'],
    'who is disabled is out, and who is removed is gone',
    async () => {
      await page.getByRole('button', { name: `Disable ${BEN}` }).click()
      await confirm('Disable this member?', 'Disable')
      await expect.poll(() => memberRow(BEN).innerText()).toContain('disabled')
      await ben.waitForURL(/\/sign-in/)
      await page.getByRole('button', { name: `Remove ${BEN}` }).click()
      await page.getByRole('dialog').getByText('What they did stays').waitFor()
      await confirm('Remove this member?', 'Remove member')
      await expect.poll(() => memberRow(BEN).count()).toBe(0)
    },
  )

  proves('people.pages.account', async () => {
    await signIn(ben, owner.email, owner.password)
    await page.locator('.sidebar .person a').click()
    await page.getByLabel('Your name').fill('Olga')
    await page.getByRole('button', { name: 'Save name' }).click()
    await expect.poll(() => page.getByRole('button', { name: 'Save name' }).isDisabled()).toBe(true)
    await page.reload()
    await settled(page)
    expect(await page.getByLabel('Your name').inputValue()).toBe('Olga')

    const rows = page.locator('.key-row')
    expect(await page.getByText('this one').count()).toBe(1)
    const before = await rows.count()
    expect(before).toBeGreaterThan(1)
    await page
      .getByRole('button', { name: /^Sign out Chrome/ })
      .first()
      .click()
    await expect.poll(() => rows.count()).toBe(before - 1)
    await ben.goto(`${url}/account`)
    await ben.waitForURL(/\/sign-in/)

    const change = async (current: string) => {
      await page.getByLabel('Current password').fill(current)
      await page.getByLabel('New password', { exact: true }).fill(PASSWORD)
      await page.getByLabel('Repeat new password').fill(PASSWORD)
      await page.getByRole('button', { name: 'Change password' }).click()
    }
    await change('not the password')
    await page.getByText('This is not your password.').waitFor()
    await change(owner.password)
    await page.getByText('Your password was changed.').waitFor()
    await expect.poll(() => rows.count()).toBe(1)
    await signIn(ben, owner.email, PASSWORD)
  })

  proves('people.pages.key-scope', async () => {
    await page.goto(`${url}/keys`)
    await page.getByLabel('Name of the new key').fill('nightly report')
    await page.getByText('Limit what it can do').click()
    await page.getByLabel('Access').selectOption('Reading')
    await page.getByLabel('Agent').fill('support')
    await page.getByLabel('Environment').selectOption('staging')
    await page.getByLabel('Expires').selectOption('In 30 days')
    await page.getByRole('button', { name: 'Create key' }).click()
    const key = await page.locator('.new-key-value code').innerText()
    const row = await page.locator('.key-row', { hasText: 'nightly report' }).innerText()
    expect(row).toContain('reading only, agent support, staging')
    expect(row).toMatch(/expires\s+in 29 days/)
    const lookUp = (environment: 'staging' | 'production') =>
      runtime.api(key).lookupPlan({ query: { agent: 'support', environment } })
    expect((await lookUp('staging')).status).toBe(200)
    expect(await lookUp('production')).toMatchObject({ status: 403, problem: { code: 'KEY_SCOPE' } })
    await runtime.sql`update api_keys set expires_at = clock_timestamp() where name = 'nightly report'`
    await page.reload()
    const ended = page.locator('section', { has: page.getByRole('heading', { name: 'Revoked and expired' }) })
    expect(await ended.innerText()).toMatch(/nightly report[\s\S]*expired/)
  })

  proves(['people.audit.filtered', 'people.audit.csv'], 'as an owner reads it', async () => {
    await page.goto(`${url}/audit`)
    await page.getByLabel('Action').selectOption('Member invited')
    await page.waitForURL(/action=member_invited/)
    const rows = page.locator('tbody tr')
    await expect.poll(() => rows.count()).toBe(2)
    expect(await rows.first().innerText()).toMatch(/signed in with a password/)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download CSV' }).click(),
    ])
    const lines = readFileSync(await download.path(), 'utf8')
      .trimEnd()
      .split('\r\n')
    expect(lines[0]).toBe('time,action,who,signed_in_by,key_name,key_prefix,ip,subject,detail')
    expect(lines.slice(1).map((line) => line.split(',').slice(1, 4))).toEqual(
      Array.from({ length: 2 }, () => ['member_invited', owner.email, 'password']),
    )
    expect(lines[1]).toContain(`,'${FORMULA},viewer`)
    await page.getByLabel('Who').fill(BEN)
    await page.getByRole('heading', { name: 'No matching entries' }).waitFor()
    await page.getByLabel('Action').selectOption('Any')
    await expect.poll(() => rows.filter({ hasText: BEN }).count()).toBeGreaterThan(0)
    expect(await rows.count()).toBe(await rows.filter({ hasText: BEN }).count())
    await page.getByLabel('Time').selectOption('Last hour')
    await page.waitForURL(/since=1h/)
    await expect.poll(() => rows.count()).toBeGreaterThan(0)
  })
})

describe.skipIf(trouble !== null)(`the way in${trouble === null ? '' : ` (skipped: ${trouble})`}`, () => {
  const { newPage, visit } = withFixturePages()

  proves('people.pages.ways-in', async () => {
    const watched = await newPage()
    const ways = { signup: false, passwords: true, providers: [{ id: 'acme', name: 'Acme' }] }
    const at = (path: string, { signedIn = false, ...given }: { signedIn?: boolean } & Partial<typeof ways> = {}) =>
      visit(watched, path, { signedIn, ways: { ...ways, ...given } })
    const provider = watched.page.getByRole('link', { name: 'Sign in with Acme' })

    let page = await at('/sign-in?next=%2Fplans', { signup: true })
    expect(await page.getByRole('link', { name: 'Create an account' }).count()).toBe(1)
    expect(await provider.getAttribute('href')).toBe('/api/auth/oidc/acme/start?next=%2Fplans')
    expect(await page.getByLabel('Password').count()).toBe(1)

    page = await at('/sign-in?next=%2F%2Fevil.example', { passwords: false })
    expect(await provider.getAttribute('href')).toBe('/api/auth/oidc/acme/start')
    for (const label of ['Email', 'Password']) expect(await page.getByLabel(label).count()).toBe(0)
    expect(await page.getByRole('link', { name: /Create an account|Forgot/ }).count()).toBe(0)

    page = await at('/sign-in?problem=no_member')
    await page.getByRole('alert').getByText('You are not a member here.').waitFor()
    page = await at('/account', { signedIn: true })
    const adding = page.getByRole('link', { name: 'Add Acme' })
    expect(await adding.getAttribute('href')).toBe('/api/auth/oidc/acme/start?next=%2Faccount&link=1')

    page = await at('/sign-up')
    await page.getByRole('heading', { name: 'Accounts are made by invitation' }).waitFor()
    expect(await page.getByRole('button', { name: 'Create account' }).count()).toBe(0)
  })
})
