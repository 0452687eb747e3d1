import { LIMITS } from '@countersign/protocol'
import { createLocalJWKSet, type JSONWebKeySet } from 'jose'
import { z } from 'zod'
import type { Cache } from '../../base/memories.js'
import { UnreachableAddress } from '../../base/outbound/checked-request.js'
import { readJson } from '../../base/outbound/read-json.js'
import type { IssuerKeys, PublicKeys, Services } from '../../context/context.js'

/** What is remembered of an address. */
export interface ReadKeys {
  readonly keys: PublicKeys
  readonly readAtMs: number
}

/** Reads the keys of issuers from their addresses, and uses them for ten minutes. */
export function createIssuerKeys(
  { config, clock }: Pick<Services, 'config' | 'clock'>,
  known: Cache<ReadKeys>,
): IssuerKeys {
  const underWay = new Map<string, Promise<ReadKeys>>()
  const options = {
    allowLocal: config.allowLocalIssuers,
    timeoutMs: LIMITS.issuerKeysTimeoutMs,
    maxBytes: LIMITS.issuerKeysBytes,
  }

  async function read(jwksUri: string): Promise<ReadKeys> {
    const found = jwksSchema.safeParse(await readJson(jwksUri, options))
    if (!found.success) throw new UnreachableAddress('it answered something that is no JSON Web Key Set')
    const keys = createLocalJWKSet(found.data as JSONWebKeySet)
    const entry = { keys, readAtMs: clock().getTime() }
    known.set(jwksUri, entry, { size: JSON.stringify(found.data).length + jwksUri.length })
    return entry
  }

  /** Once for all who wait. */
  function readOnce(jwksUri: string): Promise<ReadKeys> {
    const waiting = underWay.get(jwksUri)
    if (waiting !== undefined) return waiting
    const reading = read(jwksUri).finally(() => underWay.delete(jwksUri))
    underWay.set(jwksUri, reading)
    return reading
  }

  /** Of keys that are younger than so many seconds. */
  async function atMost(seconds: number, jwksUri: string): Promise<PublicKeys> {
    const entry = known.get(jwksUri)
    const ageMs = entry === undefined ? Number.POSITIVE_INFINITY : clock().getTime() - entry.readAtMs
    return (entry !== undefined && ageMs < seconds * 1_000 ? entry : await readOnce(jwksUri)).keys
  }

  return {
    at: (jwksUri) => atMost(LIMITS.issuerKeysSeconds, jwksUri),
    renewed: (jwksUri) => atMost(LIMITS.issuerKeysRetrySeconds, jwksUri),
  }
}

const jwksSchema = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).max(256) })
