import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  DASHBOARD_FOLDER,
  DESKTOP,
  launchBrowser,
  noBrowser,
  openPage,
  overflowOf,
  PHONE,
  seriousIssues,
  settled,
  type WatchedPage,
} from '../support/browser/browser.js'
import { type FixtureServer, startFixtureServer } from '../support/browser/fixture-server.js'
import { rounds } from '../support/data/rounds.js'
import { DRAFT, dashboardFixtures, HOSTILE_SESSION, MAIN_SESSION } from './stories/fixtures.js'
import { HOSTILE } from './stories/hostile.js'
import { longSession } from './stories/long-session.js'
import { PAGES } from './stories/pages.js'
import { renamed } from './stories/renamed.js'

const trouble = noBrowser()

describe.skipIf(trouble !== null)(
  `every page of the dashboard${trouble === null ? '' : ` (skipped: ${trouble})`}`,
  () => {
    let browser: Browser
    let server: FixtureServer
    const open: WatchedPage[] = []
    const visit = async (watched: WatchedPage, path: string, options = {}) => {
      server.use(dashboardFixtures(new Date(), options))
      watched.complaints.length = 0
      // A change of fragment alone would not be a new visit.
      if (watched.page.url().startsWith(server.url + path.replace(/#.*/, ''))) await watched.page.goto('about:blank')
      await watched.page.goto(server.url + path)
      await settled(watched.page)
      return watched.page
    }
    const newPage = async (...given: Parameters<typeof openPage> extends [unknown, ...infer Rest] ? Rest : never) => {
      const watched = await openPage(browser, ...given)
      open.push(watched)
      return watched
    }

    beforeAll(async () => {
      browser = await launchBrowser()
      server = await startFixtureServer(DASHBOARD_FOLDER)
    })
    afterAll(async () => {
      await browser?.close()
      await server?.close()
    })

    describe('wide and light, then narrow and dark:', () => {
      let watched: WatchedPage
      beforeAll(async () => {
        watched = await newPage()
      })
      test.each(PAGES)(
        '$name fits, is accessible, and the browser has nothing to complain',
        async ({ name, path, options, act, refused }) => {
          // Contrast takes longest. In npm test a state of a page that was looked at before is looked at once more, in dark.
          const [kind = ''] = name.split('-')
          const isNew = PAGES.find((other) => other.name.startsWith(kind))?.name === name || rounds(0, 1) === 1
          await watched.page.setViewportSize(DESKTOP.viewport)
          await watched.page.emulateMedia({ colorScheme: 'light' })
          const page = await visit(watched, path, options)
          await act?.(page)
          const wide = {
            issues: await seriousIssues(page, isNew ? 'all' : 'structure'),
            overflow: await overflowOf(page),
          }
          // The same page, made narrow and dark: loading it again would show nothing more.
          await page.setViewportSize(PHONE.viewport)
          await page.emulateMedia({ colorScheme: 'dark' })
          const issues = act === undefined || isNew ? await seriousIssues(page, 'contrast') : []
          const narrow = { issues, overflow: await overflowOf(page) }
          const nothing = { issues: [], overflow: 0 }
          expect({ wide, narrow }).toEqual({ wide: nothing, narrow: nothing })
          expect(watched.complaints.filter((line) => refused === undefined || !line.includes(String(refused)))).toEqual(
            [],
          )
        },
      )
    })

    test('markup, direction overrides and control characters are text, wherever they stand', async () => {
      const watched = await newPage()
      for (const path of ['/sessions', `/sessions/${HOSTILE_SESSION}`]) {
        const page = await visit(watched, path)
        expect(await page.getByText(HOSTILE.agent).count()).toBeGreaterThan(0)
        expect(await page.locator('img, #root script').count()).toBe(0)
        expect(await page.getByText('U+202E').count()).toBeGreaterThan(0)
        const shown = await page.locator('body').innerText()
        for (const acting of ['\u202e', '\u0007']) expect(shown).not.toContain(acting)
        expect(watched.complaints).toEqual([])
      }
      expect(await watched.page.getByText(HOSTILE.tool).count()).toBeGreaterThan(0)
      expect(await watched.page.title()).toContain('Countersign')
    })

    test('a name of one endless word, or one that turns text round, keeps every page in its window', async () => {
      const watched = await newPage()
      const names = [
        'support',
        'billing-ops',
        'staging, nightly tests',
        'Sent mail to an outside address again and again',
      ]
      for (const path of [
        '/',
        '/sessions',
        `/sessions/${MAIN_SESSION}`,
        '/agents',
        `/plans/${DRAFT}`,
        '/keys',
        '/audit',
      ]) {
        const endless = `\u202e${'W'.repeat(120)}\u2066`
        server.use(renamed(dashboardFixtures(new Date()), names, endless))
        const { page } = watched
        await page.setViewportSize(DESKTOP.viewport)
        await page.goto(server.url + path)
        await settled(page)
        const wide = await overflowOf(page)
        await page.setViewportSize(PHONE.viewport)
        await settled(page)
        const shown = `${await page.title()} ${await page.locator('body').innerText()}`
        expect([path, wide, await overflowOf(page)]).toEqual([path, 0, 0])
        expect(shown).toContain('WWWW')
        expect(shown).not.toMatch(/[\u202e\u2066]/)
      }
    })

    test('the content policy is default-src self, refuses inline script, and pages load nothing from elsewhere', async () => {
      const watched = await newPage()
      const asked: string[] = []
      watched.page.on('request', (request) => asked.push(request.url()))
      const page = await visit(watched, '/')
      const response = await page.request.get(`${server.url}/sessions`)
      expect(response.headers()['content-security-policy']).toContain("default-src 'self'")
      expect(await response.text()).not.toMatch(/<script>|<style|style=|onclick/)
      expect(asked.filter((url) => url.startsWith('http') && !url.startsWith(server.url))).toEqual([])
      await page.evaluate(() => {
        const script = document.createElement('script')
        script.textContent = 'document.title = "inline"'
        document.body.append(script)
      })
      expect(await page.title()).toBe('Overview · Countersign')
    })

    test('the script of a first visit is below 250 kB, packed', async () => {
      const watched = await newPage()
      const sizes: Promise<number>[] = []
      watched.page.on('response', (response) => {
        if (response.url().endsWith('.js'))
          sizes.push(
            response
              .request()
              .sizes()
              .then((size) => size.responseBodySize),
          )
      })
      await visit(watched, '/')
      const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
      expect(bytes).toBeGreaterThan(50_000)
      expect(bytes).toBeLessThan(250_000)
    })

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

    test('of a session with ten thousand events the newest are one click away, and no older state is called the newest', async () => {
      const watched = await newPage()
      const { page } = watched
      server.use(longSession(dashboardFixtures(new Date()), 10_000))
      await page.goto(`${server.url}/sessions/${MAIN_SESSION}`)
      await page.getByRole('heading', { name: 'State after event 100' }).waitFor()
      await page.getByRole('button', { name: 'Newest events' }).click()
      await page.getByRole('heading', { name: 'State now' }).waitFor()
      expect(await page.locator('.state div', { hasText: 'Version' }).locator('dd').innerText()).toBe('10000')
      await page.getByText('9,991 to 10,000 of 10,000 events').waitFor()
      await page.getByRole('button', { name: 'Earlier events' }).click()
      await page.getByText('9,891 to 10,000 of 10,000 events').waitFor()
      // A link to an event that is not on the page brings it there.
      await page.evaluate(() => {
        location.hash = '#event-42'
      })
      await page.getByRole('heading', { name: 'State after event 42' }).waitFor()
      await page.locator('#event-42').waitFor()
    })

    test('a link to an event that no session has leads to the newest', async () => {
      const watched = await newPage()
      server.use(longSession(dashboardFixtures(new Date()), 300))
      await watched.page.goto(`${server.url}/sessions/${MAIN_SESSION}#event-99999`)
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
      server.use({ me: dashboardFixtures(new Date()).me!, loadLimits: () => 503 })
      await page.getByRole('button', { name: /Live/ }).click()
      // It tries twice more before it says so, half a second and a second later.
      await page.clock.fastForward(500)
      await page.clock.fastForward(1_000)
      await page.getByText('Out of date').waitFor()
      await page.getByRole('button', { name: /^Not live/ }).waitFor()
      expect(await page.getByText('Requests per minute').isVisible()).toBe(true)
      server.use(dashboardFixtures(new Date()))
      await page.clock.fastForward(60_000)
      await page.getByText('Out of date').waitFor({ state: 'detached' })
    })

    test('a page that cannot even begin says so, and begins by itself when the service answers', async () => {
      const watched = await newPage()
      const { page } = watched
      await page.clock.install()
      server.use({ ...dashboardFixtures(new Date()), me: () => 503 })
      await page.goto(`${server.url}/limits`)
      await page.getByRole('button', { name: 'Try again' }).waitFor()
      server.use(dashboardFixtures(new Date()))
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
      server.use({ ...dashboardFixtures(new Date()), me: () => 401 })
      await page.getByLabel('Email').fill('dana@northwind.example')
      await page.getByLabel('Password').fill('correct horse battery')
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByText('the browser did not store the sign-in').waitFor()
      server.use(dashboardFixtures(new Date()))
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
    })

    test('a dialog gives the focus back and forgets what went wrong; a sign-in that ended leads to a new one and back', async () => {
      const watched = await newPage()
      const page = await visit(watched, `/sessions/${MAIN_SESSION}`)
      const opener = page.getByRole('button', { name: 'Kill session' })
      const dialog = page.getByRole('dialog', { name: 'Kill this session?' })
      const killAnswers = (status: number) =>
        server.use({ ...dashboardFixtures(new Date()), killSessionByPerson: () => status })
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
