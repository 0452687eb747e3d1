import type { Facts } from '../facts.js'

/** Who may what. */
export const people = {
  'people.roles':
    'Each route of the dashboard names the role that it takes: viewer, approver or owner; who has less gets 403 ROLE_NEEDED and changes nothing',
  'people.roles.at-once': 'A changed role, and a disabled member, count from the next request on, on every instance',
  'people.last-owner': 'A tenant keeps an owner who can sign in, whoever removes, disables or demotes owners at once',
  'people.invitation':
    'An invitation works once, for seven days, for the address it was sent to; a newer one, or a revocation, ends it',
  'people.invitation.whole': 'An invitation is accepted whole or not at all, whatever dies meanwhile',
  'people.invitation.reading': 'Reading an invitation changes nothing',
  'people.removed':
    'Removing a member erases name and address and ends every sign-in; what the member did stays in the audit trail',
  'people.tenants-apart': 'Members, invitations and sign-ins of another tenant are as if they were not there',
  'people.password-change':
    "A password is changed by whoever knows the one before, and ends the member's other sign-ins",
  'people.sign-ins': 'Members see their own sign-ins and end each at once',
  'people.signup-closed': 'Nobody can create an account in production unless the operator opens sign-up',
  'people.passwords-off': 'With passwords switched off none is taken, set or reset',
  'people.first-owner':
    'An operator lets the first owner of a tenant in by a link; what the operator does stands in the audit trail',
  'people.oidc':
    "Members sign in at the company's provider: whoever was invited, whom the provider may make a viewer, and nobody who was disabled or removed; for as long as the file says",
  'people.oidc.address':
    'An address of a provider makes nobody the member who has it: members add the provider while signed in',
  'people.oidc.groups': "Where the file maps the provider's groups, they say role and groups at each sign-in",
  'people.oidc.flow':
    'What comes back from a provider works once, in the browser that began, within ten minutes, with its own state and code, and leads to a page of this service',
  'people.oidc.away': 'A provider that is away is said to be, and passwords work on',
  'people.audit': 'The audit trail says who did it and how they were signed in, and is filtered by who, what and when',
  'key.access':
    'A key for reading reads, and a key for captures sends captures and looks up plans; all else is 403 KEY_SCOPE',
  'key.bound':
    'A key that is bound to an agent or environment reaches no other: to name another is 403 KEY_SCOPE, what belongs to another is 404, lists have only its own',
  'key.expiry': 'A key ends at its time, also in the middle of a turn, and then does not count as active',
} satisfies Facts
