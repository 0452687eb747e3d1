import { z } from 'zod'
import { agentSchema, environmentSchema, timeSchema } from '../base/ids.js'
import { QUOTA_NAMES } from '../base/limits.js'
import { KEY_ACCESS, ROLES } from '../base/roles.js'
import { ignoredUnlessFits } from '../http/ignored-unless-fits.js'
import { pageQuery } from '../http/paging.js'

/** One address, as people type it: no display name, no list, no line break, nothing invisible that makes it read as another. */
export const emailSchema = z
  .string()
  .trim()
  .max(254)
  .regex(
    /^[^\s\p{C}@<>(),;:\\"[\]]+@[^\s\p{C}@<>(),;:\\"[\]]+\.[^\s\p{C}@<>(),;:\\"[\]]+$/u,
    'expected one email address, without invisible characters',
  )
export const passwordSchema = z.string().min(10, 'a password has at least 10 characters').max(256)
export const tokenSchema = z.string().min(16).max(256)

export const personNameSchema = z.string().trim().min(1).max(100)

/** Account endpoints ignore unknown fields and never store them. */
export const signupBody = z.object({
  email: emailSchema,
  password: passwordSchema,
  name: personNameSchema.optional(),
  organisation: z.string().trim().min(1).max(100).optional(),
})
export const quotaSchema = z.enum(QUOTA_NAMES)
export const roleSchema = z.enum(ROLES)
export const userViewSchema = z.strictObject({
  user_id: z.string(),
  email: z.string(),
  name: z.string().nullable(),
  email_verified: z.boolean(),
  role: roleSchema,
  groups: z.array(z.string()),
  /** False for a member who signs in at the company's provider only. */
  has_password: z.boolean(),
  tenant_id: z.string(),
  tenant_name: z.string(),
  quota: quotaSchema,
})
export type UserView = z.infer<typeof userViewSchema>
/**
 * How an email is delivered: `sent` to its address; or, without a mail server, written to the `outbox` folder in the
 * service's data folder, and in development also shown in the terminal.
 */
export const mailDeliverySchema = z.enum(['sent', 'outbox', 'terminal'])
export type MailDelivery = z.infer<typeof mailDeliverySchema>
export const signupReply = z.strictObject({ user: userViewSchema, api_key: z.string(), mail: mailDeliverySchema })
export const loginBody = z.object({ email: z.string().max(254), password: z.string().max(256) })
export const loginReply = z.strictObject({ user: userViewSchema })
export const meReply = z.strictObject({ user: userViewSchema, mail: mailDeliverySchema })
/** Malformed addresses count as unknown ones: the reply is always the same. */
export const forgotPasswordBody = z.object({ email: ignoredUnlessFits(emailSchema) })
export const resetPasswordBody = z.object({ token: tokenSchema, password: passwordSchema })
export const verifyEmailBody = z.object({ token: tokenSchema })
/** Without an address: that of the person who is signed in. */
export const resendVerificationBody = z.object({ email: emailSchema.optional() })
/** How one can sign in here. */
export const waysInReply = z.strictObject({
  signup: z.boolean(),
  passwords: z.boolean(),
  providers: z.array(z.strictObject({ id: z.string(), name: z.string() })),
})
export const renameMyselfBody = z.strictObject({ name: personNameSchema })
export const changePasswordBody = z.strictObject({ current: z.string().max(256), password: passwordSchema })
export const signInViewSchema = z.strictObject({
  sign_in_id: z.string(),
  /** `password`, `invitation`, or `oidc:` with the provider. */
  method: z.string(),
  started_at: timeSchema,
  expires_at: timeSchema,
  ip: z.string().nullable(),
  /** What the browser says it is. */
  browser: z.string().nullable(),
  /** The one that asks. */
  current: z.boolean(),
})
export type SignInView = z.infer<typeof signInViewSchema>
export const listSignInsReply = z.strictObject({ sign_ins: z.array(signInViewSchema) })
export const signInPath = z.strictObject({ sign_in_id: z.string().min(1).max(128) })

export const doneReply = z.strictObject({ ok: z.literal(true) })
/** The same whether or not an account has the address, and so whether or not an email is sent. */
export const mailAskedReply = z.strictObject({ ok: z.literal(true), mail: mailDeliverySchema })

export const keyViewSchema = z.strictObject({
  key_id: z.string(),
  name: z.string(),
  prefix: z.string(),
  access: z.enum(KEY_ACCESS),
  /** The only agent and environment that it reaches; null: all. */
  agent: z.string().nullable(),
  environment: environmentSchema.nullable(),
  /** Its sessions act for no person; null: it says nothing. */
  principal: z.literal('none').nullable(),
  created_at: timeSchema,
  last_used_at: timeSchema.nullable(),
  expires_at: timeSchema.nullable(),
  revoked_at: timeSchema.nullable(),
})
export type KeyView = z.infer<typeof keyViewSchema>
export const keyPath = z.strictObject({ key_id: z.string().min(1).max(128) })
export const listKeysReply = z.strictObject({ keys: z.array(keyViewSchema), limit: z.int() })
/** Nothing is needed of it. */
export const revokeKeyBody = z.object({})
export const createKeyBody = z.strictObject({
  name: personNameSchema,
  access: z.enum(KEY_ACCESS).default('all'),
  agent: agentSchema.optional(),
  environment: environmentSchema.optional(),
  /** Sessions without a principal act for no person: where the one acted for must not answer, any member may. */
  principal: z.literal('none').optional(),
  expires_at: timeSchema.optional(),
})
export const createKeyReply = z.strictObject({ key: keyViewSchema, api_key: z.string() })

/** Asymmetric ones only: with a shared secret, who checks tokens could also make them. */
export const TOKEN_ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA'],
] as const
/** Who may prove for whom sessions act. */
export const issuerBody = z.strictObject({
  /** The claim `iss` of its tokens. */
  issuer: z.string().regex(/^[\x21-\x7e]{1,512}$/),
  jwks_uri: z.url({ protocol: /^https?$/ }).max(2_048),
  audience: z.string().regex(/^[\x21-\x7e]{1,512}$/),
  algorithms: z.array(z.enum(TOKEN_ALGORITHMS)).min(1).max(TOKEN_ALGORITHMS.length),
  /** The claim with the groups of a subject. */
  groups_claim: z
    .string()
    .regex(/^[\x21-\x7e]{1,128}$/)
    .default('groups'),
})

export const AUDIT_ACTIONS = [
  'signup',
  'login',
  'login_failed',
  'logout',
  'password_reset_requested',
  'password_reset',
  'email_verified',
  'password_changed',
  'name_changed',
  'sign_in_ended',
  'provider_linked',
  'member_invited',
  'invitation_revoked',
  'member_joined',
  'member_changed',
  'member_disabled',
  'member_enabled',
  'member_removed',
  'key_created',
  'key_revoked',
  'issuer_added',
  'issuer_removed',
  'quota_changed',
  'set_aside_retried',
  'set_aside_dropped',
  'sessions_archived',
  'plan_submitted',
  'plan_edited',
  'plan_approved',
  'plan_rejected',
  'tool_approved',
  'session_killed',
  'label_added',
  'workflow_killed',
  'content_erased',
  'run_started',
  'question_approved',
  'question_denied',
  'question_asked_again',
  'webhook_added',
  'webhook_changed',
  'webhook_secret_rolled',
  'webhook_disabled',
  'webhook_enabled',
  'webhook_removed',
] as const
/**
 * `subject`: only what was done to one session, workflow, plan, run, key, member, question or webhook. `who`: the address of a
 * person, `operator`, `system`, or the name of a key. `from` is in the period, `to` is not.
 */
export const auditQuery = pageQuery.extend({
  subject: z.string().min(1).max(256).optional(),
  who: z.string().min(1).max(256).optional(),
  action: z.enum(AUDIT_ACTIONS).optional(),
  from: timeSchema.optional(),
  to: timeSchema.optional(),
})
export const auditEntrySchema = z.strictObject({
  audit_id: z.string(),
  at: timeSchema,
  action: z.enum(AUDIT_ACTIONS),
  /** The person's address, `operator` for direct database access, or `system` for what the service did by itself; null for programs and people not signed in. */
  actor: z.string().nullable(),
  /** How the person was signed in: `password`, `invitation`, or `oidc:` with the provider. */
  signed_in_by: z.string().nullable(),
  /** The name of the API key that acted, at that time. */
  key: z.strictObject({ key_id: z.string(), name: z.string(), prefix: z.string() }).nullable(),
  ip: z.string().nullable(),
  subject: z.string().nullable(),
  detail: z.string().nullable(),
})
export type AuditEntry = z.infer<typeof auditEntrySchema>
