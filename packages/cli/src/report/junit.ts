import type { RunReport } from '@countersign/protocol'
import { uncheckedText } from './run-summary.js'

/** A report as JUnit XML: one case for each session that diverged, and one for all that passed. */
export function junitOf(report: RunReport, name: string): string {
  const listed = report.divergences.map(({ session, turn, call, tool_name, expected, decision, reasons, remedy }) => {
    const message = `turn ${turn + 1}, call ${call + 1}: ${tool_name} expected ${expected}, was ${decision}`
    const why = [reasons.join(', '), remedy ?? ''].filter((part) => part !== '').join('\n')
    return failedCase(name, { session, message, why })
  })
  const unlisted = report.sessions - report.sessions_passed - report.divergences.length
  const failed = [
    ...listed,
    ...(unlisted > 0 ? [failedCase(name, { session: `${unlisted} more sessions`, message: 'not as expected' })] : []),
    ...(report.sessions === 0
      ? [failedCase(name, { session: 'none', message: 'there were no sessions to check' })]
      : []),
  ]
  const passed = `    <testcase classname="${escaped(name)}" name="${report.sessions_passed} sessions passed"/>`
  const cases = [...failed, ...(report.sessions_passed > 0 ? [passed] : [])]
  return suite(name, { cases, failures: failed.length, errors: 0, note: uncheckedText(report) })
}

/** The outcome of one story of a `*.test.yaml`. */
export interface StoryResult {
  readonly file: string
  readonly story: string
  /** Empty: as expected. */
  readonly problems: readonly string[]
}

/** Stories as JUnit XML, a case each. */
export function junitOfStories(results: readonly StoryResult[]): string {
  const cases = results.map(({ file, story, problems: [first, ...more] }) =>
    first === undefined
      ? `    <testcase classname="${escaped(file)}" name="${escaped(story)}"/>`
      : failedCase(file, { session: story, message: first, why: more.join('\n') }),
  )
  const failures = results.filter(({ problems }) => problems.length > 0).length
  return suite('stories', { cases, failures, errors: 0, note: null })
}

/** A run without a report: CI shows why. */
export function junitOfError(message: string, name: string): string {
  const run = `    <testcase classname="${escaped(name)}" name="run">\n      <error message="${escaped(message)}"/>\n    </testcase>`
  return suite(name, { cases: [run], failures: 0, errors: 1, note: null })
}

const failedCase = (name: string, { session, message, why = '' }: { session: string; message: string; why?: string }) =>
  `    <testcase classname="${escaped(name)}" name="${escaped(session)}">\n      <failure message="${escaped(message)}">${escaped(why)}</failure>\n    </testcase>`

interface SuiteParts {
  readonly cases: readonly string[]
  readonly failures: number
  readonly errors: number
  readonly note: string | null
}

function suite(name: string, { cases, failures, errors, note }: SuiteParts): string {
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<testsuites>',
    `  <testsuite name="${escaped(name)}" tests="${cases.length}" failures="${failures}" errors="${errors}">`,
    ...cases,
    ...(note === null ? [] : [`    <system-out>${escaped(note)}</system-out>`]),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n')
}

/** XML allows no control characters, not even escaped ones. */
const escaped = (text: string): string =>
  text
    .toWellFormed()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones that XML forbids
    .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
