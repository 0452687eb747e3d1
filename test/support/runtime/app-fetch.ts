import type { FastifyInstance, InjectOptions } from 'fastify'

/** Standard fetch that the app answers without a socket, as if the request came from this address. */
export function appFetch(app: FastifyInstance, remoteAddress = '127.0.0.1'): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init)
    const { pathname, search, host } = new URL(request.url)
    const payload = Buffer.from(await request.arrayBuffer())
    const { statusCode, headers, rawPayload } = await app.inject({
      method: request.method as NonNullable<InjectOptions['method']>,
      url: `${pathname}${search}`,
      headers: { host, ...Object.fromEntries(request.headers) },
      remoteAddress,
      ...(payload.length > 0 && { payload }),
    })
    const isEmpty = request.method === 'HEAD' || statusCode === 304
    const fields = Object.entries(headers).flatMap(([name, value]) =>
      [value ?? []].flat().map((one) => [name, `${one}`]),
    )
    return new Response(isEmpty ? null : new Uint8Array(rawPayload), {
      status: statusCode,
      headers: fields as [string, string][],
    })
  }
}
