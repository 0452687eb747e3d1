import type { Requirement } from '../requirements.js'

/** How many rows are built and missing, in all and as one line of text per section. */
export function countBySection(rows: readonly Requirement[]): RequirementCounts {
  const sections = [...new Set(rows.map(({ section }) => section))]
  const count = (section: string | null, state: Requirement['state']) =>
    rows.filter((row) => row.state === state && (section === null || row.section === section)).length
  const line = (name: string, section: string | null) =>
    `${name.padEnd(16)}${String(count(section, 'built')).padStart(6)} built${String(count(section, 'missing')).padStart(6)} missing`
  return {
    built: count(null, 'built'),
    missing: count(null, 'missing'),
    lines: [...sections.map((section) => line(section, section)), line('all', null)],
  }
}

export interface RequirementCounts {
  readonly built: number
  readonly missing: number
  readonly lines: readonly string[]
}
