import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { launchBrowser, noBrowser, openPage, settled } from '../support/browser/browser.js'
import { proves } from '../support/proves.js'
import { type SeededRuntime, startSeeded } from '../support/volume/with-volume.js'

const trouble = noBrowser()

/** Pages of which every number is followed. */
const WHOLE_PAGES = ['/?range=1h', '/?range=24h', '/?range=7d', '/?range=30d', '/agents']

/** Long lists, of which the largest and the smallest number of each kind is followed, and how many kinds they have. */
const LISTS: readonly (readonly [path: string, kinds: number])[] = [
  ['/sessions', 4],
  ['/workflows', 2],
  ['/plans', 1],
]

interface NumberLink {
  readonly address: string
  readonly said: number
  /** What its list consists of: rows of a table, parts of a page, or rows whose values add up to it. */
  readonly of: 'rows' | 'parts' | 'values'
}

/** What a number counts, whatever session, workflow, plan, agent or time it is about. */
function kindOf({ address, of }: NumberLink): string {
  const { pathname, searchParams } = new URL(address, 'http://dashboard')
  const asked = [...searchParams].map(([name, value]) =>
    /^(session|workflow|agent|from)$/.test(name) ? name : `${name}=${value}`,
  )
  return `${of} at ${pathname.replace(/^(\/[a-z]+\/).+/, '$1…')} ${asked.join(' ')}`
}

function extremesOfEachKind(links: readonly NumberLink[]): NumberLink[][] {
  const kinds = new Map<string, NumberLink[]>()
  for (const link of links) kinds.set(kindOf(link), [...(kinds.get(kindOf(link)) ?? []), link])
  return [...kinds.values()].map((ofKind) => {
    const sorted = ofKind.toSorted((a, b) => a.said - b.said)
    return [...new Set([sorted[0] as NumberLink, sorted.at(-1) as NumberLink])]
  })
}

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

    const linksOf = (): Promise<NumberLink[]> =>
      page.locator('main a:is([data-count], [data-sum])').evaluateAll((found) =>
        found.map((link) => ({
          address: link.getAttribute('href') ?? '',
          said: Number(link.getAttribute('data-count') ?? link.getAttribute('data-sum')),
          of: link.hasAttribute('data-sum') ? 'values' : link.getAttribute('data-of') === 'parts' ? 'parts' : 'rows',
        })),
      )

    /** As a click on a link does, without loading the program again; by way of a page that leaves no list standing. */
    async function follow(address: string): Promise<void> {
      await page.evaluate(() => history.pushState({}, '', '/playground'))
      await page.getByRole('heading', { name: 'Playground' }).waitFor()
      await page.evaluate((to) => history.pushState({}, '', to), address)
      await page.getByRole('heading', { name: 'Playground' }).waitFor({ state: 'detached' })
      await settled(page)
    }

    /** What stands at the end of a link, over all pages of the list. */
    async function countAt({ address, of }: NumberLink): Promise<number> {
      await follow(address)
      if (of === 'parts') return page.locator('[data-part]').count()
      if (of === 'values') {
        const values = await page
          .locator('[data-value]')
          .evaluateAll((cells) => cells.map((cell) => Number(cell.getAttribute('data-value'))))
        return values.reduce((sum, value) => sum + value, 0)
      }
      let rows = await page.locator('tbody tr').count()
      for (;;) {
        const older = page.getByRole('link', { name: /^Older / })
        if ((await older.count()) === 0) return rows
        await follow((await older.getAttribute('href')) ?? '')
        rows += await page.locator('tbody tr').count()
      }
    }

    /** An agent of whose calls none is counted has no share of them. */
    async function sharesOfNothing(): Promise<string[]> {
      const cards = await page.locator('.agent').allInnerTexts()
      return cards.filter((card) => /decided\s+0\s+observed\s+0/.test(card) && card.includes('%'))
    }

    /** What a page says of each agent: sessions, and the share of covered calls. */
    type Said = Record<string, { sessions: string | undefined; covered: string | undefined }>

    const onAgents = async (): Promise<Said> => {
      await follow('/agents')
      const cards = await page.locator('.agent').evaluateAll((found) =>
        found.map((card) => ({
          agent: card.querySelector('h2')?.textContent ?? '',
          sessions: card.querySelector('.agent-links a')?.getAttribute('data-count') ?? undefined,
          covered: /^[\d.]+%/.exec(card.querySelector('.agent-coverage')?.textContent ?? '')?.[0],
        })),
      )
      return Object.fromEntries(cards.map(({ agent, ...said }) => [agent, said]))
    }

    const onOverview = async (): Promise<Said> => {
      await follow('/?range=30d')
      const rows = await page
        .locator('tbody tr', { has: page.locator('a[href^="/sessions"]') })
        .evaluateAll((found) => found.map((row) => [...row.children].map((cell) => cell.textContent ?? '')))
      return Object.fromEntries(
        rows.map(([agent = '', sessions, , covered]) => [agent, { sessions, covered: covered || undefined }]),
      )
    }

    proves(['people.covered.one-meaning', 'people.agents.same-window'], 'as the pages show it', async () => {
      const agents = await onAgents()
      const overview = await onOverview()
      expect(Object.keys(overview).length).toBeGreaterThan(3)
      for (const [agent, said] of Object.entries(overview)) expect([agent, agents[agent]]).toEqual([agent, said])
      expect(new Set(Object.values(agents).map(({ covered }) => covered)).size).toBeGreaterThan(2)
      for (const [agent, { covered }] of Object.entries(agents)) {
        await follow(`/contracts?agent=${agent}`)
        const shown = page.locator('.toolbar .quiet strong')
        expect([agent, (await shown.count()) === 0 ? undefined : await shown.innerText()]).toEqual([agent, covered])
      }
    })

    proves('people.numbers.lead-to-lists', async () => {
      const wrong: string[] = []
      const known = new Map<string, number>()
      let followed = 0
      const linksAt = async (path: string): Promise<NumberLink[]> => {
        await follow(path)
        await page.locator('main a[data-count]').first().waitFor()
        return linksOf()
      }
      const check = async (path: string, links: readonly NumberLink[]): Promise<void> => {
        for (const link of links) {
          const rows = known.get(link.address) ?? (await countAt(link))
          known.set(link.address, rows)
          followed += 1
          if (rows !== link.said) wrong.push(`${path}: ${link.said} leads to ${rows} ${link.of} at ${link.address}`)
        }
      }
      for (const path of WHOLE_PAGES) {
        const links = await linksAt(path)
        if (path === '/agents') wrong.push(...(await sharesOfNothing()))
        await check(path, links)
      }
      for (const [path, kinds] of LISTS) {
        const found = extremesOfEachKind(await linksAt(path))
        expect(found.length, path).toBeGreaterThanOrEqual(kinds)
        await check(path, found.flat())
      }
      expect(wrong).toEqual([])
      expect(followed).toBeGreaterThan(60)
    })
  },
)
