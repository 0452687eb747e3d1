import { changeMember, inviteMember, listMembers, removeMember, revokeInvitation } from './members.js'

/** The members of a tenant, for owners. */
export const memberHandlers = { listMembers, inviteMember, revokeInvitation, changeMember, removeMember }
