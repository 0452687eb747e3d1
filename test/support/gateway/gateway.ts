import { randomUUID } from 'node:crypto'
import type { Contract, SessionDefinition } from '@countersign/protocol'
import { afterAll } from 'vitest'
import { type Gateway, readSettings, startGateway } from '../../../packages/gateway/src/index.js'
import { type LoopbackProvider, startProvider } from '../provider/provider.js'
import { planOf } from '../runtime/plans.js'
import type { Runtime } from '../runtime/runtime.js'

export interface TestGateway {
  /** Base URLs of clients, for an agent. */
  openai(agent?: string): string
  anthropic(agent?: string): string
  readonly url: string
  readonly log: readonly string[]
  close(): Promise<void>
}

export interface GatewayTests {
  readonly provider: LoopbackProvider
  /** A gateway in front of the provider, governed by the runtime; closed after the last test. */
  start(flags?: Readonly<Record<string, string>>, options?: StartOptions): Promise<TestGateway>
  /** Approves a plan for an agent of its own, and gives its name. */
  agentWith(contracts: readonly Contract[], session?: SessionDefinition): Promise<string>
}

interface StartOptions {
  /** Sends the requests of the gateway, to the server and to the upstream. */
  readonly fetch?: typeof globalThis.fetch
  readonly key?: string
  readonly env?: Readonly<Record<string, string>>
}

export async function withGateways(runtime: Runtime): Promise<GatewayTests> {
  const provider = await startProvider()
  const gateways: Gateway[] = []
  afterAll(async () => {
    await Promise.all(gateways.map((gateway) => gateway.close()))
    await provider.close()
  })
  return {
    provider,
    async start(flags = {}, { fetch = throughRuntime(runtime), key = runtime.key, env = {} } = {}) {
      const log: string[] = []
      const settings = readSettings({
        env: { COUNTERSIGN_API_KEY: key, ...env },
        flags: { port: '0', upstream: `openai=${provider.url},anthropic=${provider.url}`, ...flags },
        readFile: () => '{}',
      })
      const gateway = await startGateway(settings, { log: (line) => log.push(line), fetch })
      gateways.push(gateway)
      return {
        url: gateway.url,
        log,
        openai: (agent = 'support') => `${gateway.url}/${agent}/openai/v1`,
        anthropic: (agent = 'support') => `${gateway.url}/${agent}/anthropic`,
        close: () => gateway.close(),
      }
    },
    async agentWith(contracts, session) {
      const agent = `agent-${randomUUID()}`
      await approvePlan(runtime, agent, planOf(contracts, session))
      return agent
    },
  }
}

/** The server answers without a socket, the provider over one. */
export const throughRuntime =
  (runtime: Runtime): typeof fetch =>
  (input, init) =>
    String(input instanceof Request ? input.url : input).includes('/api/v1/')
      ? runtime.fetch(input, init)
      : fetch(input, init)

/** Approves a plan for an agent, in every environment. */
export async function approvePlan(
  { sql, tenantId }: Runtime,
  agent: string,
  plan: ReturnType<typeof planOf>,
): Promise<void> {
  const { compiled_hash, compiled_session } = plan
  await sql`
    insert into plans (tenant_id, compiled_hash, compiled_session)
    values (${tenantId}, ${compiled_hash}, ${JSON.stringify(compiled_session)}::text::json) on conflict do nothing`
  for (const environment of ['production', 'staging', 'development']) {
    await sql`
      insert into approved_plans (tenant_id, agent, environment, compiled_hash)
      values (${tenantId}, ${agent}, ${environment}, ${compiled_hash})`
  }
}
