/** A rule that cannot do what it seems to do, or less than it seems, given the other rules of the plan. */
export interface PlanRemark {
  readonly tool: string | null
  readonly code: string
  readonly message: string
}
