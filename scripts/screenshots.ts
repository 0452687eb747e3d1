// npm run screenshots [PART]: every page (or those whose name holds PART), light and dark, desktop and phone, into screenshots/.
import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Browser } from 'playwright-core'
import { dashboardFixtures } from '../test/browser/stories/fixtures.js'
import { PAGES, type PageCase } from '../test/browser/stories/pages.js'
import { DASHBOARD_FOLDER, DESKTOP, launchBrowser, PHONE, settled } from '../test/support/browser/browser.js'
import { startFixtureServer } from '../test/support/browser/fixture-server.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const part = process.argv[2] ?? ''
const browser = await launchBrowser()
const server = await startFixtureServer(DASHBOARD_FOLDER)
mkdirSync(`${root}screenshots`, { recursive: true })
for (const page of PAGES.filter(({ name }) => name.includes(part))) {
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const [size, options] of Object.entries({ desktop: DESKTOP, phone: PHONE })) {
      await take(browser, page, `${page.name}-${size}-${colorScheme}.png`, { ...options, colorScheme })
    }
  }
}
await browser.close()
await server.close()

async function take(browser: Browser, { path, options, act }: PageCase, file: string, context: object): Promise<void> {
  server.use(dashboardFixtures(new Date(), options))
  const opened = await browser.newContext({ ...context, reducedMotion: 'reduce' })
  const page = await opened.newPage()
  await page.goto(server.url + path)
  await settled(page)
  await act?.(page)
  await page.waitForTimeout(250)
  await page.screenshot({ path: `${root}screenshots/${file}`, fullPage: true })
  await opened.close()
  console.log(`screenshots/${file}`)
}
