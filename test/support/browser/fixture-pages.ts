import type { Browser } from 'playwright-core'
import { afterAll, beforeAll } from 'vitest'
import { dashboardFixtures } from '../../browser/stories/fixtures.js'
import { DASHBOARD_FOLDER, launchBrowser, openPage, settled, type WatchedPage } from './browser.js'
import { type FixtureServer, startFixtureServer } from './fixture-server.js'

type PageOptions = Parameters<typeof openPage> extends [unknown, ...infer Rest] ? Rest : never

/** A browser, and a server that answers the dashboard from fixtures, for the tests of the describe that calls this. */
export function withFixturePages() {
  let browser: Browser
  let server: FixtureServer
  beforeAll(async () => {
    browser = await launchBrowser()
    server = await startFixtureServer(DASHBOARD_FOLDER)
  })
  afterAll(async () => {
    await browser?.close()
    await server?.close()
  })
  return {
    server: (): FixtureServer => server,
    newPage: (...given: PageOptions): Promise<WatchedPage> => openPage(browser, ...given),
    visit: async (watched: WatchedPage, path: string, options = {}) => {
      server.use(dashboardFixtures(new Date(), options))
      watched.complaints.length = 0
      // A change of fragment alone would not be a new visit.
      if (watched.page.url().startsWith(server.url + path.replace(/#.*/, ''))) await watched.page.goto('about:blank')
      await watched.page.goto(server.url + path)
      await settled(watched.page)
      return watched.page
    },
  }
}
