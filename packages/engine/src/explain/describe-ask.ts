import { type Edit, selfOf, type WrittenAsk } from '@countersign/protocol'

/** Who answers, as a sentence: `Answered by 2 members of finance within 24h.` */
export function describeAsk(ask: WrittenAsk & { readonly edit?: readonly Edit[] | undefined }): string {
  const { role = 'approver', count = 1, window = '24h', escalate = [], edit = [] } = ask
  const isNever = selfOf({ self: ask.self, count }) === 'never'
  const own = isNever ? ', not by the person whom the session acts for' : ''
  const later = escalate.map((step) => `; after ${step.after} also by ${members(step.role, 1)}`).join('')
  const edits = edit.map(({ path, to }) => EDITING[to](path)).join(', ')
  return `Answered by ${members(role, count)} within ${window}${own}${later}${edits && `, who may ${edits}`}.`
}

const EDITING: Record<Edit['to'], (path: string) => string> = {
  lower: (path) => `lower ${path}`,
  fewer: (path) => `leave out elements of ${path}`,
  one_of: (path) => `choose another listed value for ${path}`,
}

function members(role: string, count: number): string {
  if (role === 'owner' || role === 'approver') return count === 1 ? `an ${role}` : `${count} ${role}s`
  return count === 1 ? `a member of ${role}` : `${count} members of ${role}`
}
