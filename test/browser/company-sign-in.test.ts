import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { launchBrowser, noBrowser, openPage, seriousIssues } from '../support/browser/browser.js'
import { type LoopbackOidc, startOidcProvider } from '../support/process/oidc-provider.js'
import { proves } from '../support/proves.js'
import { type Runtime, startRuntime } from '../support/runtime/runtime.js'

const trouble = noBrowser()

/** People in front of a browser, the service, and the provider of their company with its own pages. */
describe.skipIf(trouble !== null)(`sign-in at the company${trouble === null ? '' : ` (skipped: ${trouble})`}`, () => {
  let folder: string
  let provider: LoopbackOidc
  let absent: LoopbackOidc
  let runtime: Runtime
  let browser: Browser
  let url = ''

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'countersign-oidc-'))
    provider = await startOidcProvider(() => `${url}/api/auth/oidc/callback`)
    await writeFile(join(folder, 'secret'), provider.clientSecret)
    absent = await startOidcProvider('https://unused.test')
    absent.away(true)
    const place = {
      tenant: 'tnt_company',
      client_id: provider.clientId,
      client_secret_file: 'secret',
      create: 'viewer',
    }
    const company = {
      ...{ id: 'company', name: 'Northwind', issuer: provider.issuer, ...place },
      ...{ roles: { admins: 'owner', leads: 'approver' }, groups: { 'Finance Dept': 'finance' } },
    }
    const second = { id: 'second', name: 'Southwind', issuer: absent.issuer, ...place }
    await writeFile(join(folder, 'oidc.json'), JSON.stringify({ providers: [company, second] }))
    runtime = await startRuntime({ config: { COUNTERSIGN_OIDC_FILE: join(folder, 'oidc.json') } })
    await runtime.sql`
      insert into tenants (tenant_id, name, quota, verified_at)
      values ('tnt_company', 'Northwind', 'scale', clock_timestamp())`
    url = await runtime.instances[0].listen()
    browser = await launchBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await runtime?.close()
    await provider?.close()
    await absent?.close()
    await rm(folder, { recursive: true, force: true })
  })

  /** A browser that has never been here, which reaches nothing but this machine. */
  async function newPage(): Promise<Page> {
    const { page } = await openPage(browser)
    await page.route(
      ({ hostname }) => hostname !== '127.0.0.1',
      (route) => route.abort(),
    )
    return page
  }
  /** From the page that wants a sign-in to the form of the provider. */
  async function goToProvider(page: Page, from = '/sign-in'): Promise<void> {
    await page.goto(url + from)
    await page.getByRole('link', { name: 'Sign in with Northwind' }).click()
    await page.waitForURL(`${provider.issuer}/**`)
  }
  async function signInThere(page: Page, subject: string): Promise<void> {
    await page.getByPlaceholder('Enter any login').fill(subject)
    await page.getByPlaceholder('and password').fill('any')
    await page.getByRole('button', { name: 'Sign-in' }).click()
    await page.getByRole('button', { name: 'Continue' }).click()
  }
  const problemOn = (page: Page) => page.getByRole('alert').textContent()

  proves(
    ['people.oidc', 'people.oidc.groups'],
    'leads to the provider and back to the page that was wanted, with the role and groups of the company',
    async () => {
      const people = { olga: ['admins'], ada: ['leads', 'Finance Dept'] }
      for (const [name, groups] of Object.entries(people)) {
        provider.accounts.set(name, { email: `${name}@northwind.example`, email_verified: true, name, groups })
        const page = await newPage()
        await goToProvider(page, '/questions')
        await signInThere(page, name)
        await page.waitForURL(`${url}/questions`)
        await page.getByRole('heading', { name: 'Questions' }).waitFor()
        await page.goto(`${url}/account`)
        await page.getByText(`${name}@northwind.example`).first().waitFor()
      }
      const members = await runtime.sql`
        select u.name, u.role, (select array_agg(g.name) from group_members g where g.user_id = u.user_id) as groups
        from users u order by u.name`
      expect(members).toEqual([
        { name: 'ada', role: 'approver', groups: ['finance'] },
        { name: 'olga', role: 'owner', groups: null },
      ])
    },
  )

  proves('people.oidc.groups', 'a person whose groups give no role is told so, and is not in', async () => {
    provider.accounts.set('eve', { email: 'eve@northwind.example', email_verified: true, groups: ['guests'] })
    const page = await newPage()
    await goToProvider(page)
    await signInThere(page, 'eve')
    await page.waitForURL(`${url}/sign-in?**`)
    expect(await problemOn(page)).toContain('None of your groups')
    expect(await seriousIssues(page)).toEqual([])
    await page.goto(`${url}/plans`)
    await page.getByRole('link', { name: 'Sign in with Northwind' }).waitFor()
  })

  proves('people.oidc.flow', 'another state, and the way back in another browser, are refused', async () => {
    const page = await newPage()
    const other = await newPage()
    const asked = page.waitForRequest((request) => request.url().startsWith(`${provider.issuer}/auth?`))
    await goToProvider(page)
    const address = (await asked).url()
    await other.goto(address)
    await signInThere(other, 'ada')
    await other.waitForURL(`${url}/sign-in?problem=expired`)
    expect(await problemOn(other)).toContain('began in another browser')
    const changed = new URL(address)
    changed.searchParams.set('state', 'another')
    await page.goto(changed.href)
    await signInThere(page, 'ada')
    await page.waitForURL(`${url}/sign-in?problem=refused`)
    // The attempt is used up: the right state works no more either.
    await page.goto(address)
    await page.waitForURL(`${url}/sign-in?problem=expired`)
  })

  proves('people.oidc.away', 'a provider that is away is said to be, and the page offers the password', async () => {
    const page = await newPage()
    await page.goto(`${url}/sign-in`)
    await page.getByRole('link', { name: 'Sign in with Southwind' }).click()
    await page.waitForURL(`${url}/sign-in?problem=provider_away`)
    expect(await problemOn(page)).toContain('The provider cannot be reached')
    await page.getByLabel('Password').waitFor()
  })
})
