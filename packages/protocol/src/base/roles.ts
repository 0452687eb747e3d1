/** What a member may do: each may do what those before may. */
export const ROLES = ['viewer', 'approver', 'owner'] as const
export type Role = (typeof ROLES)[number]

export const roleIncludes = (role: Role, needed: Role): boolean => ROLES.indexOf(role) >= ROLES.indexOf(needed)

/** The name of a group. That of a role has the same form and is none. */
export const GROUP_PATTERN = /^[a-z][a-z0-9_-]{0,63}$/
export const isRole = (name: string): name is Role => (ROLES as readonly string[]).includes(name)

/** What a key may be used for: everything, reading, or sending captures. */
export const KEY_ACCESS = ['all', 'read', 'observe'] as const
export type KeyAccess = (typeof KEY_ACCESS)[number]

/** How a person signed in: with a password, by an invitation, or at the provider of that name. */
export const signedInAt = (provider: string): string => `oidc:${provider}`
