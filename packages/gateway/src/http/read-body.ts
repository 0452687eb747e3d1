import type { IncomingMessage } from 'node:http'
import { GatewayProblem } from '../base/problems.js'
import type { Admitted } from './limits.js'

export interface BodyLimits {
  readonly maxBytes: number
  readonly timeoutMs: number
}

/** The whole body, if it is neither too large nor too slow. The connection stays open, so that a refusal can be sent. */
export async function readBody(
  message: IncomingMessage,
  admitted: Admitted,
  limits: BodyLimits,
): Promise<Uint8Array<ArrayBuffer>> {
  const announced = message.headers['content-length']
  try {
    if (Number(announced ?? 0) > limits.maxBytes) throw tooLarge(limits.maxBytes)
    admitted.hold(Number(announced ?? 0))
    return await arriving(message, limits, announced === undefined ? admitted.hold : () => {})
  } catch (error) {
    // What still comes is not kept; the reply closes the connection.
    message.resume()
    throw error
  }
}

/** The length of a body in chunks is not known before it has come: each is held by itself. */
function arriving(
  message: IncomingMessage,
  { maxBytes, timeoutMs }: BodyLimits,
  hold: (bytes: number) => void,
): Promise<Uint8Array<ArrayBuffer>> {
  return new Promise((done, fail) => {
    const chunks: Uint8Array[] = []
    let bytes = 0
    const end = (): void => {
      clearTimeout(timer)
      message.off('data', take).off('end', finish).off('close', leave).off('error', leave)
    }
    const refuse = (problem: unknown): void => {
      end()
      fail(problem)
    }
    const take = (chunk: Uint8Array): void => {
      bytes += chunk.length
      try {
        if (bytes > maxBytes) throw tooLarge(maxBytes)
        hold(chunk.length)
        chunks.push(chunk)
      } catch (problem) {
        refuse(problem)
      }
    }
    const finish = (): void => {
      end()
      done(Buffer.concat(chunks) as Uint8Array<ArrayBuffer>)
    }
    const leave = (): void => refuse(new GatewayProblem('body_invalid', 'the client left before the body was complete'))
    const timer = setTimeout(() => refuse(tooSlow(timeoutMs)), timeoutMs)
    message.on('data', take).on('end', finish).on('close', leave).on('error', leave)
  })
}

const tooLarge = (maxBytes: number): GatewayProblem =>
  new GatewayProblem(
    'body_too_large',
    `the body is larger than ${maxBytes / 1024 / 1024} MB: send less, or raise --max-body-mb`,
  )

const tooSlow = (timeoutMs: number): GatewayProblem =>
  new GatewayProblem(
    'body_slow',
    `the body did not arrive within ${timeoutMs / 1000} s: send it faster, or raise --body-seconds`,
  )
