import { afterAll, describe, expect, test } from 'vitest'
import { seededRandom } from '../support/data/random.js'
import { PATIENCE_MS, rounds, testSeed } from '../support/data/rounds.js'
import { lines } from '../support/hostile/lines-family.js'
import { ROUTE_BODIES, ROUTE_FAMILIES, UNCHANGED } from '../support/hostile/route-bodies.js'
import { searchCostly, type Trial } from '../support/hostile/search.js'
import { openServerMeter } from '../support/hostile/server-meter.js'

/** What one request may keep a process from everything else, in processor time. */
const STALL_MS = 250
const SEARCH_MS = 27 * 60_000

const inWords = ({ family, genes, stallMs }: Trial) => `${stallMs.toFixed(0)} ms: ${family} ${JSON.stringify(genes)}`

describe('requests to every route, made larger and wrong', async () => {
  // Far above what any request takes: one that reaches it would never have ended.
  const meter = await openServerMeter(120_000)
  afterAll(() => meter.close())

  test.each(ROUTE_BODIES)('$name takes the shape of its body as it is', async ({ name }) => {
    const { measured } = await meter.measure({ family: name, genes: UNCHANGED })
    expect(measured?.refused ?? '').not.toMatch(/^(INVALID_REQUEST|PLAN_INVALID)/)
  })

  /** Short, it shows that the search works; long, that it finds nothing. */
  test(
    'none that a search can find stalls a service',
    async () => {
      const until = Date.now() + rounds(0, SEARCH_MS)
      let left = rounds(8, Number.POSITIVE_INFINITY)
      const ends = await searchCostly({
        meter,
        families: [...ROUTE_FAMILIES, lines],
        random: seededRandom(testSeed()),
        enoughMs: STALL_MS,
        goesOn: () => left-- > 0 && (rounds(0, 1) === 0 || Date.now() < until),
      })
      console.log(['the costliest requests found:', ...ends.slice(0, 20).map(inWords)].join('\n'))
      expect(ends.filter(({ measured }) => measured === null).map(inWords)).toEqual([])
      if (rounds(0, 1) === 1) expect(ends.filter(({ stallMs }) => stallMs > STALL_MS).map(inWords)).toEqual([])
    },
    PATIENCE_MS,
  )
})
