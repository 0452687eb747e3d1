import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { launchBrowser, noBrowser, openPage, settled } from '../support/browser/browser.js'
import { proves } from '../support/proves.js'
import { type SeededRuntime, startSeeded } from '../support/volume/with-volume.js'

const trouble = noBrowser()
const PAGES = ['/?range=1h', '/?range=24h', '/?range=7d', '/?range=30d', '/agents', '/sessions']

/** On the real service, with a month of work in it. */
describe.skipIf(trouble !== null)(
  `the numbers of the dashboard${trouble === null ? '' : ` (skipped: ${trouble})`}`,
  () => {
    let browser: Browser
    let seeded: SeededRuntime
    let page: Page
    let url: string

    beforeAll(async () => {
      seeded = await startSeeded(70)
      // One program is at work right now.
      await seeded.runtime.sql`
      update session_heads set lease_until = clock_timestamp() + interval '1 hour' where session_id = ${seeded.mainSession}`
      url = await seeded.runtime.instances[0].listen()
      browser = await launchBrowser()
      page = (await openPage(browser)).page
      await page.goto(`${url}/sign-in`)
      await page.getByLabel('Email').fill(seeded.owner.email)
      await page.getByLabel('Password').fill(seeded.owner.password)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
    })
    afterAll(async () => {
      await browser?.close()
      await seeded?.runtime.close()
    })

    /** The rows of a list over all of its pages. */
    async function rowsAt(address: string): Promise<number> {
      await page.goto(new URL(address, url).href)
      await settled(page)
      let rows = await page.locator('tbody tr').count()
      for (;;) {
        const older = page.getByRole('link', { name: /^Older / })
        if ((await older.count()) === 0) return rows
        await page.goto(new URL((await older.getAttribute('href')) ?? '', url).href)
        await settled(page)
        rows += await page.locator('tbody tr').count()
      }
    }

    proves('people.numbers.lead-to-lists', async () => {
      const wrong: string[] = []
      const known = new Map<string, number>()
      let followed = 0
      for (const path of PAGES) {
        await page.goto(url + path)
        await settled(page)
        await page.locator('main a[data-count]').first().waitFor()
        const links = await page
          .locator('main a[data-count]')
          .evaluateAll((found) =>
            found.map((link) => [link.getAttribute('href') ?? '', link.getAttribute('data-count')]),
          )
        for (const [address, said] of links) {
          if (address === undefined || address === null) continue
          const rows = known.get(address) ?? (await rowsAt(address))
          known.set(address, rows)
          followed += 1
          if (rows !== Number(said)) wrong.push(`${path}: ${said} leads to ${rows} rows at ${address}`)
        }
      }
      expect(wrong).toEqual([])
      expect(followed).toBeGreaterThan(60)
    })
  },
)
