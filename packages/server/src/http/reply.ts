export interface Reply {
  readonly status: number
  readonly body: string | Buffer
  readonly headers: Readonly<Record<string, string>>
  /** Whose it is; without one, the caller's address. */
  readonly owner?: string | undefined
}
