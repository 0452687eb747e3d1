/** A share, counted by user task so that its interval can be drawn over tasks. */
export class Share {
  readonly #byTask = new Map<string, { hits: number; all: number }>()

  add(task: string, hit: boolean): void {
    const count = this.#byTask.get(task) ?? { hits: 0, all: 0 }
    count.all++
    if (hit) count.hits++
    this.#byTask.set(task, count)
  }

  get count(): number {
    return sum([...this.#byTask.values()].map(({ all }) => all))
  }

  /** Null when nothing was counted. */
  get value(): number | null {
    return ratio([...this.#byTask.values()])
  }

  /** 95 % of the values that other draws of as many tasks would give. */
  interval(random: () => number, draws = 1_000): [number, number] {
    const tasks = [...this.#byTask.values()]
    const values: number[] = []
    for (let draw = 0; draw < draws; draw++) {
      const value = ratio(tasks.map(() => tasks[Math.floor(random() * tasks.length)] ?? { hits: 0, all: 0 }))
      if (value !== null) values.push(value)
    }
    values.sort((a, b) => a - b)
    return [values[Math.floor(values.length * 0.025)] ?? 0, values[Math.ceil(values.length * 0.975) - 1] ?? 1]
  }
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0)

function ratio(counts: readonly { hits: number; all: number }[]): number | null {
  const all = sum(counts.map((count) => count.all))
  return all === 0 ? null : sum(counts.map(({ hits }) => hits)) / all
}

/** Mulberry32: the same numbers for the same seed. */
export function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const copy = [...items]
  for (let at = copy.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1))
    const swapped = copy[at] as T
    copy[at] = copy[other] as T
    copy[other] = swapped
  }
  return copy
}
