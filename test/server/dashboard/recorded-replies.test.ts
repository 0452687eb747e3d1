import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, expect } from 'vitest'
import { proves } from '../../support/proves.js'
import { recordLearnedPlan } from '../../support/volume/learned-plan.js'
import { type RecordedReplies, recordReplies } from '../../support/volume/record-replies.js'
import { shapeOf } from '../../support/volume/shape-of.js'
import { stableIds } from '../../support/volume/stable-ids.js'
import { startSeeded } from '../../support/volume/with-volume.js'

const FILE = fileURLToPath(new URL('../../browser/stories/recorded-replies.json', import.meta.url))
const SESSIONS = 56

const seeded = await startSeeded(SESSIONS)
afterAll(() => seeded.runtime.close())

proves(
  'people.fixtures.recorded',
  'what the page tests show has the shape of what the service answers today',
  async () => {
    const others = await recordReplies(seeded.owner, seeded.mainSession)
    const learned = await recordLearnedPlan(seeded)
    const replies: RecordedReplies = { ...others, learned, at: new Date().toISOString() }
    if (process.env.COUNTERSIGN_RECORD === '1') writeFileSync(FILE, `${JSON.stringify(stableIds(replies))}\n`)
    const recorded = JSON.parse(readFileSync(FILE, 'utf8')) as RecordedReplies
    const [is, was] = [shapeOf(replies), shapeOf(recorded)]
    const drift = {
      gone: [...was].filter((place) => !is.has(place)).sort(),
      fresh: [...is].filter((place) => !was.has(place)).sort(),
    }
    expect(drift, 'npm run fixtures records the replies again').toEqual({ gone: [], fresh: [] })
  },
)
