// Finds a Chromium for the browser tests. Run as a program, it installs Debian's if it can.
import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { installDebianPackage } from './debian-package.mjs'

/** The one without a window first: a page takes it two thirds of the processor time. */
const HEADLESS = 'chromium-headless-shell'
const PLACES = [
  `/usr/bin/${HEADLESS}`,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** @returns {string | null} the path of an installed Chromium: CHROMIUM_PATH, else the usual places */
export function findChromium() {
  const named = process.env.CHROMIUM_PATH
  if (named !== undefined && named !== '') return existsSync(named) ? named : null
  return PLACES.find((path) => existsSync(path)) ?? null
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  if (findChromium() === null) installDebianPackage(HEADLESS)
  const found = findChromium()
  console.log(
    found === null
      ? 'No Chromium: browser tests will be skipped. Install Chromium or set CHROMIUM_PATH to run them.'
      : `Chromium for browser tests: ${found}`,
  )
}
