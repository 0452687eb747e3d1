import { type Reply, startProvider } from '../test/support/provider/provider.js'

export type { Reply } from '../test/support/provider/provider.js'

/** A scripted model that speaks the real OpenAI and Anthropic APIs, so that the examples need no account. */
export interface ScriptedModel {
  /** For `new OpenAI({ baseURL })`. */
  readonly openaiUrl: string
  /** For `new Anthropic({ baseURL })`. */
  readonly anthropicUrl: string
  /** Queues replies; each request gets the next one. */
  say(...replies: Reply[]): void
  /** The bodies of the requests it has received. */
  requests(): readonly Readonly<Record<string, unknown>>[]
  close(): Promise<void>
}

export async function scriptedModel(): Promise<ScriptedModel> {
  const provider = await startProvider()
  return {
    openaiUrl: `${provider.url}/v1`,
    anthropicUrl: provider.url,
    say: (...replies) => provider.enqueue(...replies),
    requests: () => provider.requests.map(({ body }) => body ?? {}),
    close: () => provider.close(),
  }
}

/** The model calls one tool: `calls('issue_refund', { amount: 40 })`. */
export const calls = (name: string, args: object): Reply => ({ calls: [{ name, arguments: args }] })
export const says = (text: string): Reply => ({ text })
