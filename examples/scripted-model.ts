import { type Reply, startProvider } from '../test/support/provider.js'

export type { Reply } from '../test/support/provider.js'

/** A model that says what it is told to, over the real wires of OpenAI and Anthropic: examples need no account. */
export interface ScriptedModel {
  /** For `new OpenAI({ baseURL })`. */
  readonly openaiUrl: string
  /** For `new Anthropic({ baseURL })`. */
  readonly anthropicUrl: string
  /** Says these one after another, each in answer to one request. */
  say(...replies: Reply[]): void
  /** The bodies of the requests it was sent. */
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
