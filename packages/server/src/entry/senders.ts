import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { addressKey } from '../base/address-key.js'
import type { OpenContext, RequestScope } from '../context/context.js'
import { headerOf } from '../context/http-request.js'
import type { Sql } from '../postgres/sql.js'

/**
 * Which tenant was last proven on a connection, as long as it lives, and by what: a proxy sends requests of many over
 * one connection.
 */
const proven = new WeakMap<Socket, { readonly credential: string; readonly tenantId: string }>()

export function noteSender({ http: { incoming } }: Pick<RequestScope, 'http'>, tenantId: string): void {
  proven.set(incoming.socket, { credential: credentialOf(incoming), tenantId })
}

/** Who sends a request, before that is proven: the tenant that sent the one before, or the network of a stranger. */
export function senderOf({ http: { incoming }, clientAddress }: RequestScope): string {
  const before = proven.get(incoming.socket)
  return before?.credential === credentialOf(incoming) ? before.tenantId : addressKey(clientAddress)
}

const credentialOf = ({ rawHeaders }: IncomingMessage): string =>
  headerOf(rawHeaders, 'authorization') ?? headerOf(rawHeaders, 'cookie') ?? ''

/** For the statements of a caller who has proven nothing yet: the share of their network. */
export const inEntrance = <T>({ app, request }: OpenContext, fn: (sql: Sql) => Promise<T>): Promise<T> =>
  app.database.enter(senderOf(request), fn)
