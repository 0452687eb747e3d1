import { randomUUID } from 'node:crypto'
import { compilePlan } from '@countersign/engine'
import type { Sql } from '../../packages/server/src/postgres/sql.js'

/** A person with a verified account, and the agent that works with their key. */
export interface BenchAgent {
  readonly tenantId: string
  open(sessionId: string, given: NewSession): Promise<AgentSession>
  /** Reads a page of the dashboard. */
  read(path: string): Promise<void>
}

export interface NewSession {
  readonly agent: string
  readonly labels: readonly string[]
  readonly capture_level?: 'full'
}

export interface AgentSession {
  /** One refund: allowed up to 500, with its receipt, and blocked above. */
  turn(amount: number): Promise<void>
  kill(): Promise<void>
  end(): Promise<void>
}

/** What the agent needs of the answers to its requests. */
interface Answered {
  readonly fence: number
  readonly state_version: number
  readonly decisions: readonly { readonly pending_call_id: string | null; readonly argument_hash: string }[]
}

/** What a person who signed up holds. */
export interface Credentials {
  readonly tenantId: string
  readonly key: string
  readonly cookie: string
}

export async function signUp(url: string, sql: Sql, email = 'bench@example.test'): Promise<Credentials> {
  const signedUp = await sendJson(`${url}/api/auth/signup`, { email, password: 'a password of some length' }, {})
  const { user, api_key: key } = (await signedUp.json()) as { user: { tenant_id: string }; api_key: string }
  await sql`update tenants set verified_at = now() where tenant_id = ${user.tenant_id}`
  const cookie = signedUp.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')
  return { tenantId: user.tenant_id, key, cookie }
}

export function agentOf(url: string, { tenantId, key, cookie }: Credentials): BenchAgent {
  const plan = compilePlan({
    contracts: [
      { file: 'refund.yaml', value: { tool: 'refund', argument_value_invariants: [{ path: '$.amount', lte: 500 }] } },
    ],
  })
  if (!plan.ok) throw new Error('the plan does not compile')
  const { compiled_session, compiled_hash } = plan
  const api = async (path: string, body: unknown) =>
    (
      await sendJson(`${url}/api/v1/replay/sessions${path}`, body, { authorization: `Bearer ${key}` })
    ).json() as Promise<Answered>

  const open = async (session_id: string, given: NewSession): Promise<AgentSession> => {
    const { fence } = await api('', { session_id, holder_id: 'bench', compiled_session, compiled_hash, ...given })
    let state_version = 0
    return {
      turn: async (amount) => {
        const prepared_request_id = randomUUID()
        await api(`/${session_id}/preflight`, {
          prepared_request_id,
          fence,
          state_version,
          tools: [{ name: 'refund' }],
        })
        const call = { id: randomUUID(), name: 'refund', arguments: JSON.stringify({ amount }) }
        const proposed = await api(`/${session_id}/proposals`, {
          prepared_request_id,
          fence,
          response: { tool_calls: [call] },
        })
        const [decision] = proposed.decisions
        if (decision === undefined || decision.pending_call_id === null) return
        const { pending_call_id, argument_hash } = decision
        const receipt = { pending_call_id, argument_hash, outcome: 'succeeded', evidence_level: 'reported' }
        const received = await api(`/${session_id}/receipts`, { fence, receipts: [receipt] })
        state_version = received.state_version
      },
      kill: async () => void (await api(`/${session_id}/kill`, { reason: 'bench' })),
      end: async () => void (await api(`/${session_id}/end`, { fence })),
    }
  }
  const read = async (path: string) => {
    const response = await fetch(`${url}${path}`, { headers: { cookie } })
    const text = await response.text()
    if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${text}`)
  }
  return { tenantId, open, read }
}

async function sendJson(url: string, body: unknown, headers: Record<string, string>): Promise<Response> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`)
  return response
}
