import type { CompiledSession, ResultColumn, Surprise, ValueKind } from '@countersign/protocol'
import { askFrom, SIGNS } from '../contract/surprise.js'
import { namesApart, type PlanChange, pairs, type Say } from './plan-change.js'
import { same } from './rule-strength.js'

type Columns = readonly ResultColumn[]

/** Which fields of a tool's results vouch for their values, and from which length on their texts are odd. */
export function diffColumns(was: Columns = [], is: Columns = [], say: Say): PlanChange[] {
  const isText = (columns: Columns) => columns.some(({ path, holds }) => path === '$' && holds.includes('prose'))
  const [wasText, isNowText] = [isText(was), isText(is)]
  const vouching = (column: ResultColumn | undefined, areTexts: boolean): readonly ValueKind[] =>
    column === undefined || column.holds.includes('prose') || areTexts ? [] : column.holds
  return pairs([...was], [...is], ({ path, place }) => JSON.stringify([path, place])).flatMap((pair) => {
    const [before, after] = [pair.before[0], pair.after[0]]
    const path = after?.path ?? before?.path ?? '$'
    const { added: gained, gone: lost } = namesApart(vouching(before, wasText), vouching(after, isNowText))
    return [
      ...(gained.length === 0
        ? []
        : [say('allows', `fields at ${path} of its results vouch for values (${gained.join(', ')})`)]),
      ...(lost.length === 0
        ? []
        : [say('blocks', `fields at ${path} of its results no longer vouch for values (${lost.join(', ')})`)]),
      ...diffLength(path, before, after, say),
    ]
  })
}

function diffLength(
  path: string,
  before: ResultColumn | undefined,
  after: ResultColumn | undefined,
  say: Say,
): PlanChange[] {
  const [had, has] = [before?.longest, after?.longest]
  if (had === has) return []
  // Where the length of earlier texts is unknown, none is odd.
  if (has === undefined) return [say('allows', `texts at ${path} of its results are never too long`)]
  const known = had === undefined ? '' : ` (was: ${had})`
  const effect = had !== undefined && has > had ? 'allows' : 'blocks'
  return [say(effect, `texts at ${path} of its results are usual up to ${has} characters${known}`)]
}

/** How much each sign of an unusual call weighs. */
export function diffSurprise(was: Surprise | undefined, is: Surprise | undefined, say: Say): PlanChange[] {
  if (same(was, is)) return []
  if (was === undefined) return [say('blocks', 'unusual calls ask')]
  if (is === undefined) return [say('allows', 'no call is asked about for being unusual')]
  const weights = (of: Surprise) => SIGNS.flatMap((sign) => [...of[sign]])
  const [before, after] = [weights(was), weights(is)]
  const isRead = before.length === after.length
  const lighter = !isRead || after.some((weight, at) => weight < (before[at] ?? 0))
  const heavier = !isRead || after.some((weight, at) => weight > (before[at] ?? 0))
  return [
    ...(was.unused === true && is.unused === undefined
      ? [say('allows', 'its first use is no longer asked about as unusual')]
      : []),
    ...(was.unused === undefined && is.unused === true
      ? [say('blocks', 'its first use is asked about as unusual')]
      : []),
    ...(lighter ? [say('allows', 'some signs of an unusual call weigh less')] : []),
    ...(heavier ? [say('blocks', 'some signs of an unusual call weigh more')] : []),
  ]
}

type Level = CompiledSession['session']['surprise']

/** From which score on a call is asked about. */
export function diffSurpriseLevel(was: Level, is: Level, say: Say): PlanChange[] {
  if (same(was, is)) return []
  if (was === undefined) return [say('blocks', 'the session asks about unusual calls')]
  if (is === undefined) return [say('allows', 'the session no longer asks about unusual calls')]
  const share = ({ alpha }: NonNullable<Level>) => `${Number((alpha * 100).toFixed(2))} %`
  const [before, after] = [askFrom(was), askFrom(is)]
  const from = `from a score of ${after.toFixed(2)} on (was: ${before.toFixed(2)})`
  return [
    ...(was.alpha === is.alpha
      ? []
      : [
          say(
            is.alpha < was.alpha ? 'allows' : 'blocks',
            `unusual calls are asked about in ${share(is)} of the requests (was: ${share(was)})`,
          ),
        ]),
    ...(Math.abs(after - before) < LEAST_SCORE
      ? []
      : [say(after > before ? 'allows' : 'blocks', `unusual calls are asked about ${from}`)]),
    ...(same(was.expected, is.expected) ? [] : [say('changes', 'what the plan promises to ask and block changes')]),
  ]
}

/** Of scores that differ in the last digits only. */
const LEAST_SCORE = 1e-6
