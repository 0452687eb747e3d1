import { spawnSync } from 'node:child_process'

const NEEDED = "needs promtool (Debian's package prometheus)"

/** Empty where `promtool` is here; otherwise what to add to the name of a test that is skipped. */
export const withoutPromtool: string = spawnSync('promtool', ['--version']).error === undefined ? '' : ` (${NEEDED})`

/** Gauges of prom-client whose names end like those of counters, which dashboards know them by. */
const KNOWN = /^nodejs_active_(?:handles|requests|resources)_total non-counter/

/** What `promtool check metrics` says of a page. */
export function promtoolProblems(page: string): string[] {
  const { stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: page, encoding: 'utf8' })
  return `${stdout}${stderr}`.split('\n').filter((line) => line !== '' && !KNOWN.test(line))
}
