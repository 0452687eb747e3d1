import { resolve } from 'node:path'
import type { Config } from '../base/config.js'
import { createDeviceTokens } from '../base/crypto/device-tokens.js'
import { createOidcFlows } from '../base/crypto/oidc-flows.js'
import { createPasswords } from '../base/crypto/passwords.js'
import { createSealedSecrets } from '../base/crypto/sealed-secrets.js'
import type { Random } from '../base/crypto/secrets.js'
import { storedSigningKeys } from '../base/crypto/signing-keys.js'
import { createAccessTokens } from '../base/crypto/tokens.js'
import type { Log } from '../base/log.js'
import { createOidcClient } from '../base/oidc-client.js'
import type { Accounts } from '../context/context.js'
import type { Database } from '../postgres/database.js'
import { readHighestCost } from '../store/accounts/accounts.js'
import { startMailWorker } from './mail/mail-worker.js'
import { createOutboxMailer, createSmtpMailer, type Mailer } from './mail/mailer.js'

export interface AccountParts {
  readonly config: Config
  readonly database: Database
  readonly log: Log
  readonly random: Random
  readonly publicUrl: () => string
  readonly mailer?: Mailer
  /** Shows a credential to the person at the terminal. */
  readonly terminal: ((sentence: string) => void) | undefined
}

export function createAccounts(parts: AccountParts): Accounts {
  const { config } = parts
  const dataFolder = resolve(config.dataFolder)
  const mailer = parts.mailer ?? createMailer(parts, resolve(dataFolder, 'outbox'))
  const signingKeys = config.signingKeys ?? storedSigningKeys(dataFolder, parts.random)
  const highestStored = readHighestCost(parts.database.sql)
  return {
    passwords: createPasswords({ cost: config.scryptCost, highestStored }),
    accessTokens: createAccessTokens(signingKeys),
    deviceTokens: createDeviceTokens(signingKeys, parts.random),
    secureCookies: config.mode === 'production' || (config.publicUrl?.startsWith('https://') ?? false),
    oidcFlows: createOidcFlows(signingKeys),
    sealedSecrets: createSealedSecrets(signingKeys, parts.random),
    oidcClients: (config.oidcProviders ?? []).map(createOidcClient),
    mail: startMailWorker({ ...parts, mailer }),
    mailDelivery: mailer.delivery,
  }
}

function createMailer({ config, log, terminal }: AccountParts, outbox: string): Mailer {
  if (config.smtpUrl !== null) return createSmtpMailer({ url: config.smtpUrl, from: config.mailFrom })
  return createOutboxMailer({
    folder: outbox,
    tell: (file) => log.info({ file }, 'no mail server is configured: the mail is in a file'),
    // A link is a credential: only a developer's terminal may show it.
    show: config.mode === 'development' ? terminal : undefined,
  })
}
