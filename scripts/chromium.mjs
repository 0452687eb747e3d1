// Finds a Chromium for the browser tests. Run as a program, it installs Debian's if it can.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const PLACES = [
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

/** Installs Debian's Chromium on Debian as root; findChromium then finds it. */
function installChromium() {
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return
  const apt = (...args) =>
    spawnSync('apt-get', args, { stdio: 'ignore', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } })
      .status === 0
  const install = () => apt('install', '-y', '--no-install-recommends', 'chromium')
  if (!install() && apt('update')) install()
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  if (findChromium() === null) installChromium()
  const found = findChromium()
  console.log(
    found === null
      ? 'No Chromium: browser tests will be skipped. Install Chromium or set CHROMIUM_PATH to run them.'
      : `Chromium for browser tests: ${found}`,
  )
}
