import { ApiError } from '../base/api-error.js'
import type { HttpRequest } from '../context/http-request.js'

/** Browsers say where a request comes from; programs that are no browsers say nothing and carry no cookies. */
export function checkOrigin(request: HttpRequest, publicUrl: string): void {
  const site = request.header('sec-fetch-site')
  if (site !== null && site !== 'same-origin' && site !== 'none') throw new ApiError('FORBIDDEN_ORIGIN')
  const origin = request.header('origin')
  if (origin !== null && !isOurs(origin, publicUrl)) throw new ApiError('FORBIDDEN_ORIGIN')
}

/** The public address, or on a developer's machine another name of this one. */
function isOurs(origin: string, publicUrl: string): boolean {
  const ours = new URL(publicUrl)
  if (origin === ours.origin) return true
  if (!isLoopback(ours.hostname) || !URL.canParse(origin)) return false
  const theirs = new URL(origin)
  return isLoopback(theirs.hostname) && theirs.port === ours.port && theirs.protocol === ours.protocol
}

const isLoopback = (host: string) => host === 'localhost' || host === '127.0.0.1' || host === '[::1]'
