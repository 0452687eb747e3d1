/** What a metric is worth: a value for each of its lines, in the Prometheus text format. */
export interface MetricFamily {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'histogram' | 'gauge'
  /** How the values of several processes become one: `max` where each of them looks at the same thing. */
  readonly combined: Combined
  /** Values by name and labels. */
  readonly lines: readonly (readonly [line: string, value: number])[]
}

export type Combined = 'sum' | 'max'

export function renderFamilies(families: readonly MetricFamily[]): string {
  const lines = families.flatMap(({ name, help, type, lines }) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...lines.map(([line, value]) => `${line} ${value}`),
  ])
  return `${lines.join('\n')}\n`
}

/** The metrics of several processes as those of one. */
export function combineFamilies(processes: readonly (readonly MetricFamily[])[]): MetricFamily[] {
  const families = new Map<string, { family: MetricFamily; values: Map<string, number> }>()
  for (const family of processes.flat()) {
    const known = families.get(family.name) ?? { family, values: new Map<string, number>() }
    families.set(family.name, known)
    for (const [line, value] of family.lines) {
      const before = known.values.get(line)
      known.values.set(line, before === undefined ? value : COMBINE[family.combined](before, value))
    }
  }
  return [...families.values()].map(({ family, values }) => ({ ...family, lines: [...values] }))
}

const COMBINE: Readonly<Record<Combined, (one: number, other: number) => number>> = {
  sum: (one, other) => one + other,
  max: Math.max,
}
