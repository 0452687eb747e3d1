import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { addressKey } from '../base/address-key.js'
import type { OpenContext, RequestScope } from '../context/context.js'
import type { Sql } from '../postgres/sql.js'

/** The tenant that was last proven on a connection, as long as it lives. A stranger's has none. */
const tenants = new WeakMap<Socket, string>()

export function noteSender({ http }: RequestScope, tenantId: string): void {
  tenants.set(http.incoming.socket, tenantId)
}

/** Who sends a request, before that is proven: the tenant that the connection had before, or the network of a stranger. */
export const senderOf = ({ http, clientAddress }: RequestScope): string => senderAt(http.incoming, () => clientAddress)

/** The same where the request is still to be read. */
export const senderAt = ({ socket }: IncomingMessage, clientAddress: () => string): string =>
  tenants.get(socket) ?? addressKey(clientAddress())

/** For the statements of somebody who has proven nothing yet: the share of their network. */
export const inEntrance = <T>({ app, request }: OpenContext, fn: (sql: Sql) => Promise<T>): Promise<T> =>
  app.database.enter(senderOf(request), fn)
