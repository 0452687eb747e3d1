import { checkedRequest, type Outbound } from './checked-request.js'

/**
 * Posts JSON to an address that may be hostile, and returns the status of the answer. Nothing more of the answer is read.
 * Throws `UnreachableAddress` where there is none.
 */
export function postJson(
  address: string,
  { headers, body }: { readonly headers: Readonly<Record<string, string>>; readonly body: string },
  options: Outbound,
): Promise<number> {
  const length = String(Buffer.byteLength(body))
  const sent = {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json', 'content-length': length },
    body,
  } as const
  return checkedRequest(address, sent, options, async ({ statusCode }) => statusCode ?? 0)
}
