import { beforeAll, describe, expect, test } from 'vitest'
import {
  DESKTOP,
  noBrowser,
  overflowOf,
  PHONE,
  seriousIssues,
  settled,
  type WatchedPage,
} from '../support/browser/browser.js'
import { withFixturePages } from '../support/browser/fixture-pages.js'
import { rounds } from '../support/data/rounds.js'
import { DRAFT, dashboardFixtures, HOSTILE_SESSION, MAIN_SESSION } from './stories/fixtures.js'
import { HOSTILE } from './stories/hostile.js'
import { PAGES } from './stories/pages.js'
import { QUESTIONS } from './stories/questions.js'
import { renamed } from './stories/renamed.js'

const trouble = noBrowser()
const kindOf = (name: string) => name.split('-')[0]

describe.skipIf(trouble !== null)(
  `every page of the dashboard${trouble === null ? '' : ` (skipped: ${trouble})`}`,
  () => {
    const { server, newPage, visit } = withFixturePages()

    describe('wide and light, then narrow and dark:', () => {
      let watched: WatchedPage
      beforeAll(async () => {
        watched = await newPage()
      })
      test.each(PAGES)(
        '$name fits, is accessible, and the browser has nothing to complain',
        async ({ name, path, options, act, refused }) => {
          // Contrast takes longest: in npm test it is looked at in the first state of each page.
          const isNew = PAGES.find((other) => kindOf(other.name) === kindOf(name))?.name === name || rounds(0, 1) === 1
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
          const issues = isNew ? await seriousIssues(page, 'contrast') : []
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
      for (const path of [
        '/sessions',
        `/sessions/${HOSTILE_SESSION}`,
        '/questions',
        `/questions/${QUESTIONS.hostile}`,
      ]) {
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
        'ben@northwind.example',
        'on-call',
        'issue_refund',
        'Ben Ode',
        'https://hooks.northwind.example/countersign',
      ]
      for (const path of [
        '/',
        '/sessions',
        `/sessions/${MAIN_SESSION}`,
        '/agents',
        `/plans/${DRAFT}`,
        '/members',
        '/keys',
        '/audit',
        '/questions',
        `/questions/${QUESTIONS.two}`,
        '/questions/batch?rule=issue_refund%230',
        '/questions/statistics',
        '/webhooks',
      ]) {
        const endless = `\u202e${'W'.repeat(120)}\u2066`
        server().use(renamed(dashboardFixtures(new Date()), names, endless))
        const { page } = watched
        await page.setViewportSize(DESKTOP.viewport)
        await page.goto(server().url + path)
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
      const response = await page.request.get(`${server().url}/sessions`)
      expect(response.headers()['content-security-policy']).toContain("default-src 'self'")
      expect(await response.text()).not.toMatch(/<script>|<style|style=|onclick/)
      expect(asked.filter((url) => url.startsWith('http') && !url.startsWith(server().url))).toEqual([])
      await page.evaluate(() => {
        const script = document.createElement('script')
        script.textContent = 'document.title = "inline"'
        document.body.append(script)
      })
      expect(await page.title()).toMatch(/^\(\d\) Overview · Countersign$/)
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
  },
)
