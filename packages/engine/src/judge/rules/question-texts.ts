/** What the model reads of a call that people are asked about. Details of failures are for the diagnostics. */

export const waitingText = (tool: string, questionId: string): string =>
  `${tool} waits for a person, question ${questionId}. It has not run.`

/** `note`: what the person wrote; null where they wrote nothing. */
export const refusedText = (tool: string, note: string | null): string =>
  note === null ? `A person refused this call of ${tool}.` : `A person refused this call of ${tool}: ${ended(note)}`

export const expiredText = (tool: string, questionId: string): string =>
  `${questionId} ended before its call ran; ${tool} did not run.`

export const withdrawnText = (tool: string, questionId: string): string =>
  `Question ${questionId} was withdrawn; ${tool} did not run.`

export const notAskedText = (tool: string): string => `No person can be asked about ${tool}; it did not run.`

export const editedText = (changes: readonly string[], note: string | null): string =>
  `A person changed ${changes.join(', ')}${note === null ? '.' : `: ${ended(note)}`} This is the result of the changed call.`

export const usedText = (tool: string, questionId: string): string =>
  `${questionId} was used up: a call of ${tool} was allowed by it.`

const ended = (words: string): string => (/[.!?]$/.test(words) ? words : `${words}.`)
