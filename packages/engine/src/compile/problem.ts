/** What is wrong at a place in a contract, a session definition or a workflow, and how to fix it. */
export interface Problem {
  readonly path: readonly (string | number)[]
  readonly message: string
  readonly fix: string
}

export type Report = (path: Problem['path'], message: string, fix: string) => void

/** The report of one contract, by its tool and position; null stands for the session's own definition. */
export type ReportTo = (tool: string | null, index: number | null) => Report
