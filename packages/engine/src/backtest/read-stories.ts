import { type Story, storyFileSchema } from '@countersign/protocol'
import { type ContractSource, readSource } from '../compile/read-source.js'
import { describeNote } from '../compile/report/compile-note.js'
import { shapeNotes } from '../compile/shape-notes.js'

/** The stories of a `*.test.yaml`, or what is wrong with it, by file and line. */
export function readStories(
  source: ContractSource,
): { readonly ok: true; readonly stories: Story[] } | { readonly ok: false; readonly problems: string[] } {
  const reading = readSource(source)
  if (!reading.ok) return { ok: false, problems: reading.notes.map(describeNote) }
  const shape = storyFileSchema.safeParse(reading.source.value)
  if (shape.success) return { ok: true, stories: shape.data.stories }
  const notes = shapeNotes(shape.error.issues, reading.source, storyFileSchema)
  return { ok: false, problems: notes.map(describeNote) }
}
