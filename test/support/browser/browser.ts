import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { findChromium } from '../../../scripts/chromium.mjs'
import { rounds } from '../data/rounds.js'

export const DASHBOARD_FOLDER = fileURLToPath(new URL('../../../packages/dashboard/dist', import.meta.url))

/** Why browser tests cannot run here, or null. */
export function noBrowser(): string | null {
  if (findChromium() === null) return 'no Chromium; install it or set CHROMIUM_PATH'
  return existsSync(`${DASHBOARD_FOLDER}/index.html`) ? null : 'the dashboard is not built; run npm run build'
}

/** The installed Chromium, without its talk to the outside. */
export async function launchBrowser(): Promise<Browser> {
  const trouble = noBrowser()
  if (trouble !== null) throw new Error(trouble)
  return chromium.launch({
    executablePath: findChromium() ?? '',
    args: [
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
    ],
  })
}

export const DESKTOP = { viewport: { width: 1280, height: 860 } } as const satisfies BrowserContextOptions
export const PHONE = {
  viewport: { width: 360, height: 740 },
  deviceScaleFactor: 2,
  isMobile: true,
  hasTouch: true,
} as const satisfies BrowserContextOptions

/** A page, with everything the browser complains about: console errors, uncaught errors, what the content policy refused. */
export interface WatchedPage {
  readonly page: Page
  readonly complaints: string[]
}

export async function openPage(browser: Browser, options: BrowserContextOptions = DESKTOP): Promise<WatchedPage> {
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  // In long rounds each answer is late: a test that takes the page before for the one it wants fails then, not by chance.
  const delayMs = rounds(0, 700)
  if (delayMs > 0) {
    await page.route('**/*', async (route) => {
      await setTimeout(delayMs)
      // A page that was left has no use for its answers.
      await route.continue().catch(() => {})
    })
  }
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  return { page, complaints }
}

/**
 * Waits until a page has its heading, loads nothing, hides nothing that is about to be shown, and has been still for
 * some frames: what is looked at then is what stays.
 */
export async function settled(page: Page): Promise<void> {
  await page.locator('h1').first().waitFor()
  // Functions sent to the page hold no named ones: what compiles this file may refer to helpers that a page has not.
  await page.evaluate(async (patienceMs) => {
    const untilMs = performance.now() + patienceMs
    let changes = 0
    const observer = new MutationObserver(() => {
      changes += 1
    })
    observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true })
    await document.fonts.ready
    let still = 0
    while (still < 3) {
      const before = changes
      await new Promise((done) => requestAnimationFrame(done))
      const trouble =
        document.querySelector('.loading') !== null
          ? 'something is still loading'
          : // The graph keeps its nodes hidden until it has measured them.
            [...document.querySelectorAll('.react-flow__node')].some(
                (node) => getComputedStyle(node).visibility === 'hidden',
              )
            ? 'the graph is not laid out'
            : document
                  .getAnimations()
                  .some(({ effect }) => Number.isFinite(Number(effect?.getComputedTiming().endTime)))
              ? 'something still moves'
              : changes === before
                ? null
                : 'the page keeps changing'
      still = trouble === null ? still + 1 : 0
      if (performance.now() > untilMs) throw new Error(`the page did not settle: ${trouble}`)
    }
    observer.disconnect()
  }, 60_000)
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Which rules of axe a page is held to. */
const RULES = {
  all: {},
  contrast: { runOnly: ['color-contrast'] },
  structure: { rules: { 'color-contrast': { enabled: false } } },
}

/** What axe finds serious or critical on the settled page, one sentence each. */
export async function seriousIssues(page: Page, rules: keyof typeof RULES = 'all'): Promise<string[]> {
  await settled(page)
  // Not as a script element: the page's own policy refuses those, and that policy stays on.
  if (await page.evaluate(() => !('axe' in window))) await page.evaluate(axeSource)
  return page.evaluate(async (only) => {
    const { axe } = window as unknown as { axe: AxeLike }
    const { violations } = await axe.run(document, { resultTypes: ['violations'], ...only })
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map((node) => node.html.slice(0, 160)).join(' | ')}`)
  }, RULES[rules])
}

interface AxeLike {
  run(
    root: Document,
    options: { resultTypes: string[]; runOnly?: string[]; rules?: Record<string, { enabled: boolean }> },
  ): Promise<{ violations: { id: string; help: string; impact: string | null; nodes: { html: string }[] }[] }>
}

/** By how many pixels the page is wider than its window. */
export const overflowOf = (page: Page): Promise<number> =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
