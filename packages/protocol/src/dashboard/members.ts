import { z } from 'zod'
import { timeSchema } from '../base/ids.js'
import { LIMITS } from '../base/limits.js'
import { GROUP_PATTERN, isRole } from '../base/roles.js'
import type { Route } from '../http/route.js'
import {
  doneReply,
  emailSchema,
  loginReply,
  mailDeliverySchema,
  passwordSchema,
  personNameSchema,
  roleSchema,
  tokenSchema,
} from './account.js'

/** A group is a name that members share: `finance`, `on-call`. Rules may ask one of its members. */
export const groupSchema = z
  .string()
  .regex(GROUP_PATTERN, 'a group is named with lower-case letters, digits, - and _, such as on-call')
  .refine((name) => !isRole(name), 'a group cannot have the name of a role')
const groupsSchema = z
  .array(groupSchema)
  .max(LIMITS.groupsPerMember)
  .refine((groups) => new Set(groups).size === groups.length, 'a group is named twice')

export const memberSchema = z.strictObject({
  user_id: z.string(),
  email: z.string(),
  name: z.string().nullable(),
  role: roleSchema,
  groups: z.array(z.string()),
  /** Disabled members cannot sign in. */
  disabled_at: timeSchema.nullable(),
  joined_at: timeSchema,
  last_sign_in: z.strictObject({ at: timeSchema, method: z.string() }).nullable(),
})
export type Member = z.infer<typeof memberSchema>

export const invitationSchema = z.strictObject({
  invitation_id: z.string(),
  email: z.string(),
  role: roleSchema,
  groups: z.array(z.string()),
  /** The address of a member, or `operator`. */
  invited_by: z.string(),
  created_at: timeSchema,
  expires_at: timeSchema,
})
export type Invitation = z.infer<typeof invitationSchema>

const memberPath = z.strictObject({ user_id: z.string().min(1).max(128) })
const owners = { auth: 'cookie', role: 'owner', throttle: 'dashboard' } as const
const change = { ...owners, method: 'POST' } as const
const open = { method: 'POST', auth: 'none', throttle: 'none' } as const

/** The people of a tenant, and how others join them. */
export const memberRoutes = {
  listMembers: {
    ...owners,
    method: 'GET',
    path: '/api/dashboard/members',
    summary: 'Members with roles and groups, and invitations that wait',
    reply: z.strictObject({
      members: z.array(memberSchema),
      invitations: z.array(invitationSchema),
      /** How an invitation reaches its reader. */
      mail: mailDeliverySchema,
    }),
  },
  inviteMember: {
    ...change,
    path: '/api/dashboard/invitations',
    status: 201,
    summary: 'Invite a person by email; a new invitation voids the one before it',
    body: z.strictObject({ email: emailSchema, role: roleSchema, groups: groupsSchema.default([]) }),
    reply: invitationSchema,
  },
  revokeInvitation: {
    ...change,
    path: '/api/dashboard/invitations/:invitation_id/revoke',
    summary: 'Revoke an invitation; its link ends at once',
    params: z.strictObject({ invitation_id: z.string().min(1).max(128) }),
    reply: doneReply,
  },
  changeMember: {
    ...change,
    path: '/api/dashboard/members/:user_id',
    summary: 'Change the role or the groups of a member, or disable and enable them; from the next request on',
    params: memberPath,
    body: z
      .strictObject({
        role: roleSchema.optional(),
        groups: groupsSchema.optional(),
        disabled: z.boolean().optional(),
      })
      .refine((body) => Object.keys(body).length > 0, 'nothing to change: expected role, groups or disabled'),
    reply: memberSchema,
  },
  removeMember: {
    ...change,
    path: '/api/dashboard/members/:user_id/remove',
    summary: 'Remove a member: their name and address are erased, what they did stays in the audit trail',
    params: memberPath,
    reply: doneReply,
  },
  readInvitation: {
    ...open,
    path: '/api/auth/invitation',
    summary: 'What an invitation offers, before it is accepted',
    body: z.object({ token: tokenSchema }),
    reply: z.strictObject({
      email: z.string(),
      role: roleSchema,
      tenant_name: z.string(),
      invited_by: z.string(),
    }),
  },
  acceptInvitation: {
    ...open,
    path: '/api/auth/accept-invitation',
    summary: 'Join with an invitation, set a password and sign in',
    body: z.object({ token: tokenSchema, password: passwordSchema, name: personNameSchema.optional() }),
    reply: loginReply,
  },
} as const satisfies Record<string, Route>
