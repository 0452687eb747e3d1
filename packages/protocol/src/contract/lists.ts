import { z } from 'zod'
import { LIMITS } from '../base/limits.js'

/** A list in a contract or a session definition. */
export const listOf = <Entry extends z.ZodType>(entry: Entry) => z.array(entry).max(LIMITS.entriesPerList)

/** The same by name. The names are counted before anything under them is looked at. */
export const tableOf = <Entry extends z.ZodType>(
  name: z.ZodString,
  entry: Entry,
  most: number = LIMITS.entriesPerList,
) =>
  z.preprocess(
    (entries: Readonly<Record<string, z.input<Entry>>>, context) => {
      const count = typeof entries === 'object' && entries !== null ? Object.keys(entries).length : 0
      if (count > most) context.addIssue(`there are ${count}; declare at most ${most}`)
      return entries
    },
    z.record(name, entry),
  )
