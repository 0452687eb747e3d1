import { isObject } from '../base/json-object.js'
import type { Provider } from '../providers/provider.js'
import { isClientStream, readableOf } from './client-stream.js'

/** What a call of the client gives: the data, and the client's own promise. */
export interface ApiResult {
  data: unknown
  /** Gives the HTTP response to those who ask for it; null when no request was made. */
  call: unknown
}

/**
 * The promise that both clients return from `create`: besides being awaited it gives the raw response.
 * A class, because `await` looks past the members of a plain promise.
 */
export class GovernedPromise extends Promise<unknown> {
  readonly #result: Promise<ApiResult>
  readonly #provider: Provider

  constructor(result: Promise<ApiResult>, provider: Provider) {
    super((resolve) => resolve(undefined))
    this.#result = result
    this.#provider = provider
  }

  /** Promises made from this one are plain. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  // biome-ignore lint/suspicious/noThenProperty: this is a promise whose value is made of the result
  override then<A = unknown, B = never>(
    onFulfilled?: ((value: unknown) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    const taken = typeof onFulfilled === 'function' ? ({ data }: ApiResult) => onFulfilled(data) : dataOf
    return this.#result.then(taken as (result: ApiResult) => A | PromiseLike<A>, onRejected)
  }

  override catch<B = never>(onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<unknown | B> {
    return this.then(null, onRejected)
  }

  override finally(onFinally?: (() => void) | null): Promise<unknown> {
    return this.#result.then(dataOf).finally(onFinally)
  }

  async withResponse(): Promise<{ data: unknown; response: Response }> {
    const { data, call } = await this.#result
    const http = await httpOf(call)
    // The body of a stream has not been read yet: the client's own response would still give what was not judged.
    return { ...http, response: isClientStream(data) ? this.#judged(http.response, data) : http.response, data }
  }

  async asResponse(): Promise<Response> {
    const { data, call } = await this.#result
    return this.#judged((await httpOf(call)).response, data)
  }

  /** The response with the body that was judged, not the one that came over the wire. */
  #judged({ status, statusText, headers: sent }: Response, data: unknown): Response {
    const { wire } = this.#provider
    const body = isClientStream(data) ? readableOf(data, wire.encode, () => wire.end) : JSON.stringify(data)
    const headers = new Headers(sent)
    for (const name of ['content-length', 'content-encoding', 'transfer-encoding']) headers.delete(name)
    headers.set('content-type', isClientStream(data) ? 'text/event-stream' : 'application/json')
    return new Response(body, { status, statusText, headers })
  }

  /** What a runner looks at before it reads the data: the response that was judged, like everything else. */
  async _responseProps(): Promise<{ response: Response; controller: AbortController; options: object }> {
    const { data } = await this.#result
    // The client reads the events of a stream by itself, where it is told that there are some.
    const options = { stream: isClientStream(data) }
    return { response: await this.asResponse(), controller: new AbortController(), options }
  }

  /** How the clients' own helpers build on `create`. */
  _thenUnwrap(transform: (data: unknown) => unknown): GovernedPromise {
    const unwrapped = this.#result.then((result) => {
      const data = transform(result.data)
      if (isObject(data) && isObject(result.data) && '_request_id' in result.data) {
        Object.defineProperty(data, '_request_id', { value: result.data._request_id, enumerable: false })
      }
      return { data, call: result.call }
    })
    return new GovernedPromise(unwrapped, this.#provider)
  }
}

const dataOf = ({ data }: ApiResult): unknown => data

interface Http {
  response: Response
  /** Further members of the client's `withResponse`, such as `request_id`. */
  [key: string]: unknown
}

/** The HTTP response of a call whose data has been read. */
async function httpOf(call: unknown): Promise<Http> {
  if (isObject(call) && typeof call.withResponse === 'function') return await call.withResponse()
  return { response: new Response(null, { status: 200 }) }
}
