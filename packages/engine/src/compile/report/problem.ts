/** What is wrong at a path in a contract, a session definition or a workflow, and how to fix it. */
export interface Problem {
  readonly path: readonly (string | number)[]
  readonly message: string
  readonly fix: string
}

/** Given as a function where they take long: they are put together only for a problem that is kept. */
export type Words = string | (() => string)

export type Report = (path: Problem['path'], message: Words, fix: Words) => void

/** A plan may have thousands; more are not corrected at once. */
export const MOST_PROBLEMS = 50

/** Keeps the first problems that are reported, and counts the others. */
export class Problems<Found extends Problem> {
  readonly kept: Found[] = []
  more = 0

  add(problem: Omit<Found, 'message' | 'fix'>, message: Words, fix: Words): void {
    if (this.kept.length < MOST_PROBLEMS) {
      this.kept.push({ ...problem, message: written(message), fix: written(fix) } as Found)
    } else this.more++
  }
}

const written = (words: Words): string => (typeof words === 'function' ? words() : words)

/** The `Report` for one contract, by tool and position; null for the session definition. */
export type ReportTo = (tool: string | null, index: number | null) => Report
