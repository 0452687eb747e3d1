import type { Role } from '@countersign/protocol'

interface RoleWords {
  /** After "you are". */
  readonly as: string
  readonly may: string
}

/** What a role allows, in words. */
export const ROLE_WORDS: Record<Role, RoleWords> = {
  viewer: { as: 'a viewer', may: 'Viewers see sessions, calls, questions, contracts and plans, and change nothing.' },
  approver: {
    as: 'an approver',
    may: 'Approvers also answer questions, kill and label sessions, and draft, edit and backtest plans.',
  },
  owner: {
    as: 'an owner',
    may: 'Owners also approve plans, erase content, manage members and keys, and read the audit trail.',
  },
}

export const ROLE_OPTIONS = (Object.keys(ROLE_WORDS) as Role[]).map((value) => ({ value, label: value }))

/** How a person was signed in. */
export function signInWords(method: string): string {
  if (method === 'password') return 'with a password'
  if (method === 'invitation') return 'by an invitation'
  return method.startsWith('oidc:') ? `at ${method.slice('oidc:'.length)}` : method
}
