import { randomUUID } from 'node:crypto'
import { pathOf, ROUTES } from '@countersign/protocol'
import { type Attacker, createSession } from './attacker.js'
import { compiledOf, FIXED, many, type Shape } from './shape.js'

/** Requests and connections of tenants and of strangers without a key. */
export const REQUEST_SHAPES: readonly Shape[] = [
  {
    name: 'bodies: 4 MB of JSON that means nothing',
    build: () => {
      const bodies = [
        `{"captures":[${'{},'.repeat(900)}{}],"x":[${'[],'.repeat(1_300_000)}[]]}`,
        `{"captures":[{"a":${'['.repeat(60)}${'{"a":1},'.repeat(480_000)}{}${']'.repeat(60)}}]}`,
        `{"captures":["${'\\u0061'.repeat(680_000)}"]}`,
        `{"captures":[${'1e308,'.repeat(680_000)}1]}`,
      ]
      return async (attacker) => {
        await Promise.all(many(24, (at) => attacker.post('ingestCaptures', bodies[at % bodies.length])))
      }
    },
  },
  {
    name: 'bodies: plans that are wrong everywhere',
    build: () => {
      const named = { session_id: 's', holder_id: 'h' }
      const planOf = (contracts: object[]) =>
        JSON.stringify({ ...named, compiled_session: { plan_version: 1, session: {}, contracts } })
      const ruled = (rules: object) => planOf([{ tool: 't', ...FIXED, ...rules }])
      const bodies = [
        planOf(many(340_000, () => ({}))),
        ruled({ argument_value_invariants: many(340_000, () => ({})) }),
        ruled({ preconditions: many(340_000, () => ({})) }),
        ruled(Object.fromEntries(many(90_000, (at) => [`k${at}`, 1]))),
      ]
      return async (attacker) => {
        await Promise.all(many(24, (at) => attacker.post('createSession', bodies[at % bodies.length])))
      }
    },
  },
  {
    name: 'bodies: 4 MB of names that nobody met before',
    build: () => {
      const rows = many(3_500, (row) => Object.fromEntries(many(100, (at) => [`k${row * 100 + at}`, 1])))
      const body = JSON.stringify({ prepared_request_id: 'p', fence: 1, response: { rows } })
      return async (attacker) => {
        await Promise.all(many(24, () => attacker.post('propose', body, { session_id: 'none' })))
      }
    },
  },
  {
    name: 'workflows: names that nothing declares',
    build: () => {
      const tools = (letter: string) => many(512, (at) => `${letter}${at}_`.padEnd(256, letter))
      const definition = {
        roles: { a: {}, b: { tools: tools('x') } },
        handoffs: [{ from: 'a', to: 'b', tools: tools('y') }],
      }
      const plan = compiledOf({ contracts: [{ tool: 'act', ...FIXED }] })
      return async (attacker) => {
        await createSession(attacker, plan, { workflow: { workflow_id: 'w', role: 'a', definition } })
      }
    },
  },
  {
    name: 'workflows: every handoff between roles with many tools',
    build: () => {
      const names = many(64, (at) => `r${at}`)
      const tools = many(512, (at) => `t${at}`)
      const definition = {
        roles: Object.fromEntries(names.map((name) => [name, { root: true, tools }])),
        handoffs: names.flatMap((from) => names.map((to) => ({ from, to }))),
      }
      const plan = compiledOf({ contracts: [{ tool: 'act', ...FIXED }] })
      return async (attacker) => {
        const workflow = () => ({ workflow_id: randomUUID(), role: 'r0', definition })
        await Promise.all(many(24, () => createSession(attacker, plan, { workflow: workflow() })))
      }
    },
  },
  {
    name: 'stranger: 20,000 long paths',
    build: () => async (attacker) => {
      for (let round = 0; round < 200; round++)
        await Promise.all(many(100, (at) => attacker.send('GET', `/api/v1/runs/${round}-${at}-${'p'.repeat(8_000)}`)))
    },
  },
  {
    name: 'stranger: 400 connections that ask again and again',
    build: () => async (attacker) => {
      const asked = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'
      await asking(attacker, { connections: 400, seconds: 8, asked })
    },
  },
  {
    name: 'stranger: cookies of semicolons',
    build: () => async (attacker) => {
      const asked = `GET /api/auth/me HTTP/1.1\r\nHost: x\r\nCookie: ${';'.repeat(15_000)}\r\n\r\n`
      await asking(attacker, { connections: 400, seconds: 8, asked })
    },
  },
  {
    name: 'stranger: a header of commas',
    build: () => async (attacker) => {
      const asked = `GET /x HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${','.repeat(15_500)}\r\n\r\n`
      await asking(attacker, { connections: 200, seconds: 8, asked: asked.repeat(3) })
    },
  },
  {
    name: 'stranger: requests without a host',
    build: () => async (attacker) => {
      const asked = 'GET / HTTP/1.1\r\n\r\n'.repeat(3_500)
      await asking(attacker, { connections: 200, seconds: 8, asked })
    },
  },
  {
    name: 'stranger: a path that leads up and down',
    build: () => async (attacker) => {
      const asked = `GET /${'%41/../'.repeat(2_200)} HTTP/1.1\r\nHost: x\r\n\r\n`
      await asking(attacker, { connections: 200, seconds: 8, asked })
    },
  },
  {
    name: 'connections: 400 bodies of which one byte comes',
    build: () => {
      const compiled = compiledOf({ contracts: [{ tool: 'act', ...FIXED }] })
      return async (attacker) => {
        const { session_id } = (await createSession(attacker, compiled)) ?? { session_id: 'none' }
        const path = pathOf(ROUTES.preflight, { session_id })
        const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${attacker.key}\r\n`
        for (const socket of await Promise.all(many(400, () => attacker.socket())))
          socket?.on('error', () => {}).write(`${head}Content-Type: application/json\r\nContent-Length: 200\r\n\r\n{`)
        await new Promise((done) => setTimeout(done, 8_000))
      }
    },
  },
  {
    name: 'stranger: sign-ins with wrong passwords',
    build: () => async (attacker) => {
      const body = (at: number) => JSON.stringify({ email: `p${at}@example.com`, password: 'wrong-password-123' })
      await Promise.all(many(300, (at) => attacker.send('POST', '/api/auth/login', body(at))))
    },
  },
  {
    name: 'stranger: 800 clients that do not read',
    build: () => async (attacker) => {
      const asked = `GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(30)
      for (let at = 0; at < 800; at++) (await attacker.socket())?.pause().write(asked)
      await new Promise((done) => setTimeout(done, 5_000))
    },
  },
  {
    name: 'stranger: 200 connections with 2,400 requests each',
    build: () => async (attacker) => {
      const asked = 'GET / HTTP/1.1\r\nHost:x\r\n\r\n'.repeat(2_400)
      const sockets = await Promise.all(many(200, () => attacker.socket()))
      for (const socket of sockets) socket?.pause().write(asked)
      await new Promise((done) => setTimeout(done, 5_000))
    },
  },
  {
    name: 'stranger: 3,000 connections that say nothing',
    build: () => async (attacker) => {
      for (let at = 0; at < 3_000; at++) await attacker.socket()
    },
  },
  {
    name: 'tenant: 300 bodies that never end',
    build: () => async (attacker) => {
      const head = `POST ${pathOf(ROUTES.ingestCaptures)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${attacker.key}\r\nContent-Type: application/json\r\nContent-Length: 4000000\r\n\r\n`
      const part = Buffer.alloc(1_000_000, 0x20)
      for (let at = 0; at < 300; at++) {
        const socket = await attacker.socket()
        socket?.write(head)
        socket?.write(part)
      }
      await new Promise((done) => setTimeout(done, 5_000))
    },
  },
  {
    name: 'tenant: large evidence, as fast as allowed',
    build: () => {
      const receipts = many(60, (at) => ({
        pending_call_id: `p${at}`,
        argument_hash: 'a'.repeat(64),
        outcome: 'succeeded',
        evidence_level: 'reported',
        outputs: { '$.x': 'y'.repeat(60_000) },
      }))
      const body = JSON.stringify({ fence: 1, receipts })
      return async (attacker) => {
        await Promise.all(many(60, () => attacker.post('submitReceipts', body, { session_id: 'none' })))
      }
    },
  },
]

interface Asking {
  readonly connections: number
  readonly seconds: number
  readonly asked: string
}

/** Each connection asks, and asks again once there is a reply. */
async function asking(attacker: Attacker, { connections, seconds, asked }: Asking): Promise<void> {
  const endMs = performance.now() + seconds * 1_000
  for (const socket of await Promise.all(many(connections, () => attacker.socket()))) {
    socket
      ?.on('error', () => {})
      .on('data', () => {
        if (performance.now() < endMs) socket.write(asked)
      })
    socket?.write(asked)
  }
  await new Promise((done) => setTimeout(done, seconds * 1_000))
}
