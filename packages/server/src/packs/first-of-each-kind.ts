import type { PlanDetail } from '@countersign/protocol'

type Advisory = PlanDetail['advisories'][number]

/** A person reads some dozens; a plan of a megabyte can earn twenty thousand. */
const MOST_OF_A_KIND = 100

/** The first advisories of each kind, and at the end how many more there are. */
export function firstOfEachKind(advisories: readonly Advisory[]): Advisory[] {
  const counts = new Map<string, number>()
  const listed = advisories.filter(({ code }) => {
    const count = (counts.get(code) ?? 0) + 1
    counts.set(code, count)
    return count <= MOST_OF_A_KIND
  })
  for (const [code, count] of counts) {
    const more = count - MOST_OF_A_KIND
    if (more > 0) listed.push({ tool_name: null, code, message: `${more} more of the kind ${code} are not listed` })
  }
  return listed
}
