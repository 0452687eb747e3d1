import type { Config } from '../base/config.js'

/** On every reply that does not set its own. The API serves data only, so nothing may be loaded or framed. */
export const securityHeaders = (mode: Config['mode']): Readonly<Record<string, string>> => ({
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  ...(mode === 'production' ? { 'strict-transport-security': 'max-age=31536000; includeSubDomains' } : {}),
})
