import type { RunReport } from '@countersign/protocol'

/** A report as JUnit XML: one case for each session that diverged, and one that stands for those that passed. */
export function junitOf(report: RunReport, name: string): string {
  const failures = report.sessions - report.sessions_passed
  const cases = report.divergences.map(({ session, turn, call, tool_name, expected, decision, reasons, remedy }) => {
    const message = `turn ${turn + 1}, call ${call + 1}: ${tool_name} expected ${expected}, was ${decision}`
    const text = [reasons.join(', '), remedy ?? ''].filter((part) => part !== '').join('\n')
    return `    <testcase classname="${escaped(name)}" name="${escaped(session)}">\n      <failure message="${escaped(message)}">${escaped(text)}</failure>\n    </testcase>`
  })
  const passed = `    <testcase classname="${escaped(name)}" name="${report.sessions_passed} sessions passed"/>`
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<testsuites>',
    `  <testsuite name="${escaped(name)}" tests="${report.sessions}" failures="${failures}" errors="0">`,
    ...cases,
    ...(report.sessions_passed > 0 ? [passed] : []),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n')
}

/** XML has no place for control characters, escaped or not. */
const escaped = (text: string): string =>
  text
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones that XML forbids
    .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udfff](?![\udc00-\udfff])/g, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
