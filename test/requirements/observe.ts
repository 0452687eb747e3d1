import type { Fact } from './fact.js'

export const observe = [
  {
    id: 'observe.api-key',
    behaviour: 'apiKey is the key that captures are sent with',
    state: 'missing',
  },
  {
    id: 'observe.api-key.environment',
    behaviour: 'Without apiKey the key is read from COUNTERSIGN_API_KEY',
    state: 'missing',
  },
  {
    id: 'observe.agent.default',
    behaviour: 'agent is default when not given',
    state: 'missing',
  },
  {
    id: 'observe.capture-level.default',
    behaviour: 'captureLevel is redacted when not given',
    state: 'missing',
  },
  {
    id: 'observe.endpoint',
    behaviour: 'endpoint sends captures to another address',
    state: 'missing',
  },
  {
    id: 'observe.max-buffer.default',
    behaviour: 'maxBuffer is 100 when not given',
    state: 'missing',
  },
  {
    id: 'observe.max-buffer.maximum',
    behaviour: 'maxBuffer never exceeds 1000',
    state: 'missing',
  },
  {
    id: 'observe.flush-ms.default',
    behaviour: 'flushMs is 5000 when not given',
    state: 'missing',
  },
  {
    id: 'observe.timeout-ms.default',
    behaviour: 'timeoutMs is 5000 when not given',
    state: 'missing',
  },
  {
    id: 'observe.timeout-ms.maximum',
    behaviour: 'timeoutMs never exceeds 10000',
    state: 'missing',
  },
  {
    id: 'observe.disabled.default',
    behaviour: 'disabled is false when not given',
    state: 'missing',
  },
  {
    id: 'observe.disabled',
    behaviour: 'disabled true records and sends nothing',
    state: 'missing',
  },
  {
    id: 'observe.diagnostics',
    behaviour: 'diagnostics is called with diagnostic events',
    state: 'missing',
  },
  {
    id: 'observe.patches-openai',
    behaviour: 'The chat completion create call of an OpenAI-shaped client is observed',
    state: 'missing',
  },
  {
    id: 'observe.patches-anthropic',
    behaviour: 'The messages create call of an Anthropic-shaped client is observed',
    state: 'missing',
  },
  {
    id: 'observe.detects-provider',
    behaviour: "The provider is told from the client's shape alone",
    state: 'missing',
  },
  {
    id: 'observe.response-untouched',
    behaviour: 'The program gets the very response the provider gave',
    state: 'missing',
  },
  {
    id: 'observe.batched',
    behaviour: 'Several captures travel in one request',
    state: 'missing',
  },
  {
    id: 'observe.asynchronous',
    behaviour: 'The observed call does not wait for captures to be sent',
    state: 'missing',
  },
  {
    id: 'observe.stream-after-end',
    behaviour: 'A streamed response is captured whole once the stream has ended',
    state: 'missing',
  },
  {
    id: 'observe.no-op-on-unknown-client',
    behaviour: 'A client of unknown shape gets a handle that does nothing',
    state: 'missing',
  },
  {
    id: 'observe.no-key.warns-once',
    behaviour: 'Without an API key one warning is logged and no more',
    state: 'missing',
  },
  {
    id: 'observe.no-key.no-op',
    behaviour: 'Without an API key nothing is recorded, sent or stored',
    state: 'missing',
  },
] as const satisfies readonly Fact[]
