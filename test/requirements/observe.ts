import type { Fact } from './fact.js'

export const observe = [
  {
    id: 'observe.api-key',
    behaviour: 'apiKey is the key that captures are sent with',
    state: 'built',
  },
  {
    id: 'observe.api-key.environment',
    behaviour: 'Without apiKey the key is read from COUNTERSIGN_API_KEY',
    state: 'built',
  },
  {
    id: 'observe.agent.default',
    behaviour: 'agent is default when not given',
    state: 'built',
  },
  {
    id: 'observe.capture-level.default',
    behaviour: 'captureLevel is redacted when not given',
    state: 'built',
  },
  {
    id: 'observe.endpoint',
    behaviour: 'endpoint sends captures to another address',
    state: 'built',
  },
  {
    id: 'observe.max-buffer.default',
    behaviour: 'maxBuffer is 100 when not given',
    state: 'built',
  },
  {
    id: 'observe.max-buffer.maximum',
    behaviour: 'maxBuffer never exceeds 1000',
    state: 'built',
  },
  {
    id: 'observe.flush-ms.default',
    behaviour: 'flushMs is 5000 when not given',
    state: 'built',
  },
  {
    id: 'observe.timeout-ms.default',
    behaviour: 'timeoutMs is 5000 when not given',
    state: 'built',
  },
  {
    id: 'observe.timeout-ms.maximum',
    behaviour: 'timeoutMs never exceeds 10000',
    state: 'built',
  },
  {
    id: 'observe.disabled.default',
    behaviour: 'disabled is false when not given',
    state: 'built',
  },
  {
    id: 'observe.disabled',
    behaviour: 'disabled true records and sends nothing',
    state: 'built',
  },
  {
    id: 'observe.diagnostics',
    behaviour: 'diagnostics is called with diagnostic events',
    state: 'built',
  },
  {
    id: 'observe.patches-openai',
    behaviour: 'The chat completion create call of an OpenAI-shaped client is observed',
    state: 'built',
  },
  {
    id: 'observe.patches-anthropic',
    behaviour: 'The messages create call of an Anthropic-shaped client is observed',
    state: 'built',
  },
  {
    id: 'observe.detects-provider',
    behaviour: "The provider is told from the client's shape alone",
    state: 'built',
  },
  {
    id: 'observe.response-untouched',
    behaviour: 'The program gets the very response the provider gave',
    state: 'built',
  },
  {
    id: 'observe.batched',
    behaviour: 'Several captures travel in one request',
    state: 'built',
  },
  {
    id: 'observe.asynchronous',
    behaviour: 'The observed call does not wait for captures to be sent',
    state: 'built',
  },
  {
    id: 'observe.stream-after-end',
    behaviour: 'A streamed response is captured whole once the stream has ended',
    state: 'built',
  },
  {
    id: 'observe.no-op-on-unknown-client',
    behaviour: 'A client of unknown shape gets a handle that does nothing',
    state: 'built',
  },
  {
    id: 'observe.no-key.warns-once',
    behaviour: 'Without an API key one warning is logged and no more',
    state: 'built',
  },
  {
    id: 'observe.no-key.no-op',
    behaviour: 'Without an API key nothing is recorded, sent or stored',
    state: 'built',
  },
] as const satisfies readonly Fact[]
