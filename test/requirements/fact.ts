/** One thing the specification says, in a sentence that a test can prove or refute. */
export interface Fact {
  readonly id: string
  readonly behaviour: string
  /** `missing` becomes `built` in the commit that brings the test which cites the row. */
  readonly state: 'built' | 'missing'
}
