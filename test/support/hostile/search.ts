import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { pick } from '../data/random.js'
import { FAMILIES } from './families.js'
import type { Measured, Question } from './measure-child.js'
import type { Family, Genes } from './request.js'

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

const CHILD = fileURLToPath(new URL('./measure-child.ts', import.meta.url))

export function openMeter(limitMs: number): Meter {
  let child: ChildProcess | null = null
  const childOf = () => {
    child ??= fork(CHILD, { execArgv: ['--import', 'tsx'], stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
    return child
  }
  const close = () => {
    child?.kill('SIGKILL')
    child = null
  }
  return {
    close,
    measure: (question) =>
      new Promise((done) => {
        const running = childOf()
        const finish = (measured: Measured | null, stallMs: number) => {
          clearTimeout(timer)
          running.removeAllListeners()
          if (measured === null) close()
          done({ ...question, measured, stallMs })
        }
        const timer = setTimeout(() => finish(null, limitMs), limitMs)
        running.once('message', (measured: Measured) => finish(measured, measured.longestMs))
        running.once('exit', () => finish(null, limitMs))
        running.send(question)
      }),
  }
}

/** A kind of request, by the numbers that are searched. */
type Ranges = Pick<Family, 'name' | 'genes'>

export interface SearchOptions {
  readonly random: () => number
  readonly meter: Meter
  /** When to stop. */
  readonly goesOn: () => boolean
  readonly onTrial?: (trial: Trial) => void
  readonly families?: readonly Ranges[]
  /** A climb ends at a request that is as costly as this: it is found. */
  readonly enoughMs: number
}

/** Climbs from random requests to costlier ones, a family at a time. Returns what each climb ended with, costliest first. */
export async function searchCostly(options: SearchOptions): Promise<Trial[]> {
  const { random, meter, goesOn, onTrial, enoughMs, families = FAMILIES } = options
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

/** Each rule, place, path, schema and policy on each kind of value that is as large as may be; the rest by chance. */
export function everyKind(random: () => number): Question[] {
  return FAMILIES.flatMap((family) => {
    const kinds = Object.entries(family.genes).filter(([name, range]) => name !== 'value' && isKind(range))
    const values = family.genes.value ?? ONE
    return kinds.flatMap(([name, range]) =>
      allOf(range).flatMap((kind) =>
        allOf(values).map((value) => ({
          family: family.name,
          genes: { ...randomGenes(family, random), value, [name]: kind, size: MOST },
        })),
      ),
    )
  })
}

/** Cut to what one call may carry. */
const MOST = 64_000
const ONE = [0, 0] as const
const isKind = ([least, most]: readonly [number, number]) => least === 0 && most < 30
const allOf = ([least, most]: readonly [number, number]) =>
  Array.from({ length: most - least + 1 }, (_, at) => least + at)

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
