import { randomUUID } from 'node:crypto'
import { pathOf, ROUTES } from '@countersign/protocol'
import { createSession } from './attacker.js'
import { compiledOf, FIXED, many, type Shape } from './shape.js'

const TIMES = 110

/** Values of which a reply has many: as text they are short, and as objects they are not. */
const empty = (count: number) => many(count, () => ({}))

const pending = (at: number) => JSON.stringify({ at, v: empty(6_000), s: 'x'.repeat(100_000) })

/** Replies of megabytes, asked for as often as the quota lets a tenant ask at once. */
export const REPLY_SHAPES: readonly Shape[] = [
  {
    name: 'replies: a session with its pending calls',
    build: () => {
      const compiled = compiledOf({ contracts: [{ tool: 'act', ...FIXED }] })
      const tool_calls = many(28, (at) => ({ id: `c${at}`, name: 'act', arguments: pending(at) }))
      return async (attacker) => {
        const session = await createSession(attacker, compiled, { capture_level: 'full' })
        if (session === null) return
        const { session_id, fence } = session
        const prepared_request_id = randomUUID()
        const asked = { prepared_request_id, fence, state_version: 0, tools: [{ name: 'act' }] }
        await attacker.post('preflight', asked, { session_id })
        const proposal = { prepared_request_id, fence, gate: 'strip_blocked', response: { tool_calls } }
        await attacker.post('propose', proposal, { session_id })
        // Their arguments are sent once nobody knows whether they ran.
        await attacker.post('recoverSession', { holder_id: 'other', takeover: true }, { session_id })
        const path = `${pathOf(ROUTES.loadSession, { session_id })}?include=pending`
        await Promise.all(many(TIMES, () => attacker.send('GET', path)))
      }
    },
  },
  {
    name: 'replies: an export of a session with a large plan',
    build: () => {
      const argument = { type: 'array', items: {}, default: empty(2_000) }
      const compiled = compiledOf({
        contracts: many(48, (at) => ({ tool: `act${at}`, ...FIXED, arguments: { properties: { a: argument } } })),
      })
      return async (attacker) => {
        const session = await createSession(attacker, compiled)
        if (session === null) return
        const path = pathOf(ROUTES.exportEvents, { session_id: session.session_id })
        await Promise.all(many(TIMES, () => attacker.send('GET', path)))
      }
    },
  },
  {
    name: 'stranger: thousands of lines after a body',
    build: () => {
      const head = 'POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n'
      const asked = `${head}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n${'a:\r\n'.repeat(3_900)}\r\n`
      return async (attacker) => {
        const endMs = performance.now() + 8_000
        const again = async () => {
          while (performance.now() < endMs) {
            const socket = await attacker.socket()
            if (socket === null) continue
            await new Promise((done) => {
              socket.on('error', () => {}).on('close', done)
              socket.resume().write(asked)
            })
          }
        }
        await Promise.all(many(100, again))
      }
    },
  },
]
