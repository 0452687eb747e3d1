import { afterAll, describe, expect, test } from 'vitest'
import { seededRandom } from '../support/data/random.js'
import { PATIENCE_MS, rounds, testSeed } from '../support/data/rounds.js'
import { FOUND, KNOWN } from '../support/hostile/found.js'
import { lines } from '../support/hostile/lines-family.js'
import { ROUTE_BODIES, ROUTE_FAMILIES, UNCHANGED } from '../support/hostile/route-bodies.js'
import { everyKind, openMeter, type SearchOptions, searchCostly, type Trial } from '../support/hostile/search.js'
import { openServerMeter } from '../support/hostile/server-meter.js'

/** What one request may keep a process from everything else, in processor time. */
const STALL_MS = 250
/** Of each of the two searches. */
const SEARCH_MS = 27 * 60_000

/** Far above what any request takes: one that reaches it would never have ended. */
const meter = openMeter(120_000)
afterAll(() => meter.close())

const inWords = ({ family, genes, stallMs }: Trial) => `${stallMs.toFixed(0)} ms: ${family} ${JSON.stringify(genes)}`

// Each was found because it took seconds; a quarter of them is enough to see that they come to an end.
const some = rounds(4, 1)

test.each([...KNOWN, ...FOUND.filter((_, at) => at % some === 0)])(
  'comes to an end: $family $genes',
  async (question) => {
    expect(await meter.measure(question)).toMatchObject({ measured: { bytes: expect.any(Number) } })
  },
)

/** Short, it shows that the search works; long, that it finds nothing. */
async function findNothing(trials: number, options: Pick<SearchOptions, 'meter' | 'families'>): Promise<void> {
  const until = Date.now() + rounds(0, SEARCH_MS)
  let left = rounds(trials, Number.POSITIVE_INFINITY)
  const ends = await searchCostly({
    ...options,
    random: seededRandom(testSeed()),
    enoughMs: STALL_MS,
    goesOn: () => left-- > 0 && (rounds(0, 1) === 0 || Date.now() < until),
  })
  console.log(['the costliest requests found:', ...ends.slice(0, 20).map(inWords)].join('\n'))
  expect(ends.filter(({ measured }) => measured === null).map(inWords)).toEqual([])
  if (rounds(0, 1) === 1) expect(ends.filter(({ stallMs }) => stallMs > STALL_MS).map(inWords)).toEqual([])
}

test(
  'no rule, path or schema takes long on any kind of value',
  async () => {
    const all = everyKind(seededRandom(testSeed()))
    const apart = rounds(Math.ceil(all.length / 10), 1)
    const trials: Trial[] = []
    for (const question of all.filter((_, at) => at % apart === 0)) trials.push(await meter.measure(question))
    const costliest = trials.toSorted((a, b) => b.stallMs - a.stallMs).slice(0, 20)
    console.log([`the costliest of ${trials.length}:`, ...costliest.map(inWords)].join('\n'))
    expect(trials.filter(({ measured }) => measured === null).map(inWords)).toEqual([])
    if (rounds(0, 1) === 1) expect(costliest.filter(({ stallMs }) => stallMs > STALL_MS / 2).map(inWords)).toEqual([])
  },
  PATIENCE_MS,
)

test('no plan or response that a search can find stalls a process', () => findNothing(6, { meter }), PATIENCE_MS)

describe('requests to every route, made larger and wrong', async () => {
  const serverMeter = await openServerMeter(120_000)
  afterAll(() => serverMeter.close())

  test.each(ROUTE_BODIES)('$name takes the shape of its body as it is', async ({ name }) => {
    const { measured } = await serverMeter.measure({ family: name, genes: UNCHANGED })
    expect(measured?.refused ?? '').not.toMatch(/^(INVALID_REQUEST|PLAN_INVALID)/)
  })

  test(
    'none that a search can find stalls a service',
    () => findNothing(15, { meter: serverMeter, families: [...ROUTE_FAMILIES, lines] }),
    PATIENCE_MS,
  )
})
