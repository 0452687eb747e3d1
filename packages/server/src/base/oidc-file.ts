import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { groupSchema, roleSchema } from '@countersign/protocol'
import { z } from 'zod'

const isLoopback = ({ hostname }: URL) => ['localhost', '127.0.0.1', '[::1]'].includes(hostname)

/** A provider on this machine may do without TLS, for development; production refuses it. */
const issuerSchema = z.url().refine((text) => {
  const url = new URL(text)
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url))
}, 'expected an https URL')

const providerSchema = z.strictObject({
  /** In the address of its sign-in, and in the audit trail. */
  id: z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, 'expected lower-case letters, digits and -'),
  /** On the button. */
  name: z.string().min(1).max(64),
  tenant: z.string().min(1),
  issuer: issuerSchema,
  client_id: z.string().min(1),
  /** Relative to the file; without it the client is public. */
  client_secret_file: z.string().min(1).optional(),
  scopes: z.string().default('openid email profile'),
  groups_claim: z.string().min(1).default('groups'),
  /** Roles by a group of the provider. Then the provider says who is what, and who has none of them does not come in. */
  roles: z.record(z.string(), roleSchema).optional(),
  /** Groups by a group of the provider. Then the provider says who is in which. */
  groups: z.record(z.string(), groupSchema).optional(),
  /** What becomes of a person without an invitation. */
  create: z.enum(['none', 'viewer']).default('none'),
  /** How long a sign-in lasts, and so how old the groups may be. */
  hours: z.int().min(1).max(168).default(12),
})
const fileSchema = z.strictObject({ providers: z.array(providerSchema).min(1).max(32) })

export type OidcProvider = Readonly<z.output<typeof providerSchema>> & { readonly clientSecret: string | null }

/** Reads the providers and their secrets, or says what is wrong with the file. */
export function oidcProviders(file: string): readonly OidcProvider[] {
  const { data, error } = fileSchema.safeParse(JSON.parse(readFileSync(file, 'utf8')))
  if (error !== undefined) {
    const [issue] = error.issues
    throw new Error(`${file}: ${issue?.path.join('.')}: ${issue?.message}`)
  }
  const ids = data.providers.map(({ id }) => id)
  const twice = ids.find((id, index) => ids.indexOf(id) < index)
  if (twice !== undefined) throw new Error(`${file}: there are two providers with the id ${twice}`)
  return data.providers.map((provider) => {
    const { client_secret_file: secret } = provider
    const clientSecret = secret === undefined ? null : readFileSync(resolve(dirname(file), secret), 'utf8').trim()
    if (clientSecret === '') throw new Error(`${file}: the client secret of ${provider.id} is empty`)
    return { ...provider, clientSecret }
  })
}
