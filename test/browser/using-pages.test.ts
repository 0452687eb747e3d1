import { describe, expect, test } from 'vitest'
import { DESKTOP, noBrowser, PHONE, settled } from '../support/browser/browser.js'
import { withFixturePages } from '../support/browser/fixture-pages.js'
import { proves } from '../support/proves.js'
import { dashboardFixtures, MAIN_SESSION } from './stories/fixtures.js'
import { longSession } from './stories/long-session.js'
import { PAGES } from './stories/pages.js'

const trouble = noBrowser()

describe.skipIf(trouble !== null)(
  `what pages do when they are used${trouble === null ? '' : ` (skipped: ${trouble})`}`,
  () => {
    const { server, newPage, visit } = withFixturePages()

    test('the theme follows the system, a choice wins over it, and the choice is kept', async () => {
      const watched = await newPage({ ...DESKTOP, colorScheme: 'dark' })
      const page = await visit(watched, '/keys')
      const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)
      const dark = await ground()
      await page.getByRole('button', { name: 'Light' }).click()
      await expect.poll(ground).not.toBe(dark)
      const light = await ground()
      await page.reload()
      await settled(page)
      expect(await ground()).toBe(light)
      await page.emulateMedia({ colorScheme: 'light' })
      await page.getByRole('button', { name: 'Dark' }).click()
      await expect.poll(ground).toBe(dark)
    })

    test('filters are in the address, survive a reload, and page on by cursor', async () => {
      const watched = await newPage()
      const page = await visit(watched, '/sessions')
      const rows = page.locator('tbody tr')
      await expect.poll(() => rows.count()).toBe(20)
      await page.getByRole('link', { name: 'Older sessions' }).click()
      await page.waitForURL(/cursor=20/)
      await page.getByLabel('State').selectOption('KILLED')
      await page.waitForURL(/status=KILLED/)
      expect(new URL(page.url()).searchParams.get('cursor')).toBeNull()
      await page.reload()
      await settled(page)
      expect(await page.getByLabel('State').inputValue()).toBe('KILLED')
      expect(await rows.count()).toBe(await page.locator('tbody').getByText('Killed').count())
      await page.getByRole('searchbox', { name: 'Search' }).fill('nothing-like-this')
      await page.getByRole('heading', { name: 'No matching sessions' }).waitFor()
      await page.getByRole('button', { name: 'Clear all filters' }).click()
      await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 20)
    })

    test('the state beside the timeline is the one of the chosen moment', async () => {
      const watched = await newPage()
      const page = await visit(watched, `/sessions/${MAIN_SESSION}`)
      const state = page.locator('.state')
      const version = state.locator('div', { hasText: 'Version' }).locator('dd')
      expect(await version.innerText()).toBe('2')
      await page.getByRole('button', { name: 'State after 2', exact: true }).click()
      await page.getByRole('heading', { name: 'State after event 2' }).waitFor()
      await expect.poll(() => version.innerText()).toBe('0')
      await page.getByRole('button', { name: 'State after 3', exact: true }).click()
      await page.getByRole('heading', { name: 'State after event 3' }).waitFor()
      await expect.poll(() => version.innerText()).toBe('1')
      await expect.poll(() => state.locator('.changed dt').allInnerTexts()).toContain('Tool calls')
    })

    proves(
      'people.state.now',
      'also of a session with ten thousand events, the newest of which are one click away',
      async () => {
        const watched = await newPage()
        const { page } = watched
        server().use(longSession(dashboardFixtures(new Date()), 10_000))
        await page.goto(`${server().url}/sessions/${MAIN_SESSION}`)
        await page.getByText('1 to 100 of 10,000 events').waitFor()
        const version = page.locator('.state div', { hasText: 'Version' }).locator('dd')
        await page.getByRole('heading', { name: 'State now' }).waitFor()
        expect(await version.innerText()).toBe('10000')
        await page.getByRole('button', { name: 'State after 7', exact: true }).click()
        await page.getByRole('heading', { name: 'State after event 7' }).waitFor()
        expect(await version.innerText()).toBe('7')
        await page.getByRole('button', { name: 'Now', exact: true }).click()
        await page.getByRole('button', { name: 'Newest events' }).click()
        await page.getByRole('heading', { name: 'State now' }).waitFor()
        expect(await version.innerText()).toBe('10000')
        await page.getByText('9,991 to 10,000 of 10,000 events').waitFor()
        await page.getByRole('button', { name: 'Earlier events' }).click()
        await page.getByText('9,891 to 10,000 of 10,000 events').waitFor()
        // A link to an event that is not on the page brings it there.
        await page.evaluate(() => {
          location.hash = '#event-42'
        })
        await page.getByRole('heading', { name: 'State after event 42' }).waitFor()
        await page.locator('#event-42').waitFor()
      },
    )

    test('a link to an event that no session has leads to the newest', async () => {
      const watched = await newPage()
      server().use(longSession(dashboardFixtures(new Date()), 300))
      await watched.page.goto(`${server().url}/sessions/${MAIN_SESSION}#event-99999`)
      await watched.page.getByRole('heading', { name: 'State now' }).waitFor()
      await watched.page.locator('#event-300').waitFor()
    })

    test('the menu of a phone opens, leads on, and closes by keyboard', async () => {
      const watched = await newPage(PHONE)
      const page = await visit(watched, '/')
      await page.getByRole('button', { name: 'Menu' }).click()
      const menu = page.getByRole('dialog', { name: 'Menu' })
      await menu.waitFor()
      await page.keyboard.press('Escape')
      await menu.waitFor({ state: 'hidden' })
      await page.getByRole('button', { name: 'Menu' }).click()
      await menu.getByRole('link', { name: 'Audit trail' }).click()
      await page.waitForURL(/\/audit$/)
      await menu.waitFor({ state: 'hidden' })
    })

    test('a page that cannot reach the service says so, keeps what it has, and recovers by itself', async () => {
      const watched = await newPage()
      await watched.page.clock.install()
      const page = await visit(watched, '/limits')
      server().use({ me: dashboardFixtures(new Date()).me!, loadLimits: () => 503 })
      await page.getByRole('button', { name: /Live/ }).click()
      // It tries twice more before it says so, half a second and a second later.
      await page.clock.fastForward(500)
      await page.clock.fastForward(1_000)
      await page.getByText('Out of date').waitFor()
      await page.getByRole('button', { name: /^Not live/ }).waitFor()
      expect(await page.getByText('Requests per minute').isVisible()).toBe(true)
      server().use(dashboardFixtures(new Date()))
      await page.clock.fastForward(60_000)
      await page.getByText('Out of date').waitFor({ state: 'detached' })
    })

    test('a page that cannot even begin says so, and begins by itself when the service answers', async () => {
      const watched = await newPage()
      const { page } = watched
      await page.clock.install()
      server().use({ ...dashboardFixtures(new Date()), me: () => 503 })
      await page.goto(`${server().url}/limits`)
      await page.getByRole('button', { name: 'Try again' }).waitFor()
      server().use(dashboardFixtures(new Date()))
      await page.clock.fastForward(5_000)
      await page.getByRole('heading', { name: 'Limits and usage' }).waitFor()
    })

    test('two clicks at once make one key', async () => {
      const watched = await newPage()
      const page = await visit(watched, '/keys')
      const sent: string[] = []
      page.on('request', (request) => {
        if (request.method() === 'POST') sent.push(new URL(request.url()).pathname)
      })
      await page.getByLabel('Name of the new key').fill('nightly')
      await page.getByRole('button', { name: 'Create key' }).dblclick()
      await page.getByRole('heading', { name: 'Your new key' }).waitFor()
      expect(sent).toEqual(['/api/dashboard/keys'])
      await page.getByLabel('Name of the new key').fill('weekly')
      const again = page.waitForRequest((request) => request.method() === 'POST')
      await page.getByRole('button', { name: 'Create key' }).click()
      await again
    })

    test('a sign-in shows that it is under way until the next page is there', async () => {
      const watched = await newPage()
      const page = await visit(watched, '/sign-in?next=%2Flimits', { signedIn: false })
      let letGo = () => {}
      const held = new Promise<void>((done) => {
        letGo = done
      })
      await page.route('**/api/auth/me', async (route) => {
        await held
        await route.continue()
      })
      await page.getByLabel('Email').fill('dana@northwind.example')
      await page.getByLabel('Password').fill('correct horse battery')
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.locator('.under-way').waitFor()
      expect(await page.getByRole('button', { name: 'Sign in' }).isDisabled()).toBe(true)
      letGo()
      await page.getByRole('heading', { name: 'Limits and usage' }).waitFor()
      await page.locator('.under-way').waitFor({ state: 'detached' })
    })

    test('a sign-in that the browser does not keep is explained, and can be tried again', async () => {
      const watched = await newPage()
      const page = await visit(watched, '/sign-in', { signedIn: false })
      server().use({ ...dashboardFixtures(new Date()), me: () => 401 })
      await page.getByLabel('Email').fill('dana@northwind.example')
      await page.getByLabel('Password').fill('correct horse battery')
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByText('the browser did not store the sign-in').waitFor()
      server().use(dashboardFixtures(new Date()))
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
    })

    test('a dialog gives the focus back and forgets what went wrong; a sign-in that ended leads to a new one and back', async () => {
      const watched = await newPage()
      const page = await visit(watched, `/sessions/${MAIN_SESSION}`)
      const opener = page.getByRole('button', { name: 'Kill session' })
      const dialog = page.getByRole('dialog', { name: 'Kill this session?' })
      const killAnswers = (status: number) =>
        server().use({ ...dashboardFixtures(new Date()), killSessionByPerson: () => status })
      killAnswers(503)
      await opener.click()
      await dialog.getByRole('button', { name: 'Kill session' }).click()
      await dialog.getByText('nothing was decided').waitFor()
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      await dialog.waitFor({ state: 'detached' })
      await expect.poll(() => opener.evaluate((button) => button === document.activeElement)).toBe(true)
      killAnswers(401)
      await opener.click()
      expect(await dialog.getByRole('alert').count()).toBe(0)
      await dialog.getByRole('button', { name: 'Kill session' }).click()
      await page.waitForURL(/\/sign-in\?next=%2Fsessions%2F/)
    })

    test('blockers keep a draft from approval; a draft without them is approved with a reason', async () => {
      const watched = await newPage()
      const blocked = await visit(watched, PAGES.find(({ name }) => name === 'plan-blocked')?.path ?? '')
      expect(await blocked.getByRole('button', { name: 'Approve' }).isDisabled()).toBe(true)
      const page = await visit(watched, PAGES.find(({ name }) => name === 'plan-draft')?.path ?? '')
      await page.getByRole('button', { name: 'Approve' }).click()
      const dialog = page.getByRole('dialog', { name: 'Approve this plan?' })
      await dialog.getByRole('button', { name: 'Approve plan' }).click()
      expect(await dialog.isVisible()).toBe(true)
      await dialog.getByLabel(/Reason/).fill('The backtest is clean')
      await dialog.getByRole('button', { name: 'Approve plan' }).click()
      await dialog.waitFor({ state: 'detached' })
      await page.getByText('The backtest is clean').waitFor()
      await expect.poll(() => page.getByRole('button', { name: 'Approve' }).count()).toBe(0)
    })
  },
)
