import { pick } from '../data/random.js'
import type { Family, Genes } from './request.js'

export interface Question {
  readonly family: string
  readonly genes: Genes
}

export interface Measured {
  readonly bytes: number
  /** The longest piece of processor time in the thread that answers requests, in milliseconds. */
  readonly longestMs: number
  /** Why the request was refused. */
  readonly refused: string | null
}

/** A request and what it cost. */
export interface Trial extends Question {
  /** The longest time that nothing else could be done. */
  readonly stallMs: number
  readonly measured: Measured | null
}

export interface Meter {
  /** Measures a request, or gives up after `limitMs`. */
  measure(question: Question): Promise<Trial>
  close(): void | Promise<void>
}

/** A kind of request, by the numbers that are searched. */
type Ranges = Pick<Family, 'name' | 'genes'>

export interface SearchOptions {
  readonly random: () => number
  readonly meter: Meter
  /** When to stop. */
  readonly goesOn: () => boolean
  readonly onTrial?: (trial: Trial) => void
  readonly families: readonly Ranges[]
  /** A climb ends at a request that is as costly as this: it is found. */
  readonly enoughMs: number
}

/** Climbs from random requests to costlier ones, a family at a time. Returns what each climb ended with, costliest first. */
export async function searchCostly(options: SearchOptions): Promise<Trial[]> {
  const { random, meter, goesOn, onTrial, enoughMs, families } = options
  const ends: Trial[] = []
  while (goesOn()) {
    const family = pick(random, families)
    if (family === undefined) break
    const measure = async (genes: Genes) => {
      const trial = await meter.measure({ family: family.name, genes })
      onTrial?.(trial)
      return trial
    }
    let best = await measure(randomGenes(family, random))
    for (let idle = 0; idle < STEPS_WITHOUT_GAIN && goesOn() && best.stallMs < enoughMs; ) {
      const next = await measure(mutated(family, best.genes, random))
      const gained = next.stallMs > best.stallMs * 1.05
      idle = gained ? 0 : idle + 1
      if (gained) best = next
    }
    ends.push(best)
  }
  return ends.toSorted((a, b) => b.stallMs - a.stallMs)
}

const STEPS_WITHOUT_GAIN = 12

const within = ([least, most]: readonly [number, number], value: number) =>
  Math.round(Math.min(most, Math.max(least, value)))

/** Small and large sizes alike: evenly over their magnitudes. */
function randomGenes(family: Ranges, random: () => number): Genes {
  return Object.fromEntries(
    Object.entries(family.genes).map(([name, [least, most]]) => [
      name,
      most - least < 30
        ? within([least, most], least + random() * (most - least))
        : within([least, most], Math.max(least, 1) * (most / Math.max(least, 1)) ** random()),
    ]),
  )
}

function mutated(family: Ranges, genes: Genes, random: () => number): Genes {
  const changed: Record<string, number> = { ...genes }
  for (let change = 0; change < 1 + random() * 2; change++) {
    const [name, range] = pick(random, Object.entries(family.genes)) ?? []
    if (name === undefined || range === undefined) continue
    const now = changed[name] ?? 0
    const way = random()
    const next = way < 0.4 ? now * (1 + random() * 3) + 1 : way < 0.6 ? now / (1 + random() * 3) : null
    changed[name] = next === null ? (randomGenes(family, random)[name] ?? now) : within(range, next)
  }
  return changed
}
