/** What is wrong at a path in a contract, a session definition or a workflow, and how to fix it. */
export interface Problem {
  readonly path: readonly (string | number)[]
  readonly message: string
  readonly fix: string
}

export type Report = (path: Problem['path'], message: string, fix: string) => void

/** The `Report` for one contract, by tool and position; null for the session definition. */
export type ReportTo = (tool: string | null, index: number | null) => Report
