import { afterAll, expect, test } from 'vitest'
import { seededRandom } from '../support/data/random.js'
import { PATIENCE_MS, rounds, testSeed } from '../support/data/rounds.js'
import { FOUND, KNOWN } from '../support/hostile/found.js'
import { openMeter, searchCostly, type Trial } from '../support/hostile/search.js'

/** What one request may keep a process from everything else, in processor time. */
const STALL_MS = 250
const SEARCH_MS = 55 * 60_000

/** Far above what any request takes: one that reaches it would never have ended. */
const meter = openMeter(120_000)
afterAll(() => meter.close())

const describe = ({ family, genes, stallMs }: Trial) => `${stallMs.toFixed(0)} ms: ${family} ${JSON.stringify(genes)}`

// Each was found because it took seconds; a quarter of them is enough to see that the budget is there.
const some = rounds(4, 1)

test.each([...KNOWN, ...FOUND.filter((_, at) => at % some === 0)])(
  'comes to an end: $family $genes',
  async (question) => {
    expect(await meter.measure(question)).toMatchObject({ measured: { bytes: expect.any(Number) } })
  },
)

// Short, it shows that the search works; long, that it finds nothing.
test(
  'no request that a search can find stalls a process',
  async () => {
    const until = Date.now() + rounds(0, SEARCH_MS)
    let left = rounds(6, Number.POSITIVE_INFINITY)
    const ends = await searchCostly({
      random: seededRandom(testSeed()),
      meter,
      enoughMs: STALL_MS,
      goesOn: () => left-- > 0 && (rounds(0, 1) === 0 || Date.now() < until),
    })
    console.log(['the costliest requests found:', ...ends.slice(0, 20).map(describe)].join('\n'))
    expect(ends.filter(({ measured }) => measured === null).map(describe)).toEqual([])
    if (rounds(0, 1) === 1) expect(ends.filter(({ stallMs }) => stallMs > STALL_MS).map(describe)).toEqual([])
  },
  PATIENCE_MS,
)
