import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { ReplayConfigError } from '../../packages/sdk/src/base/errors.js'
import { createBypassWatch } from '../../packages/sdk/src/clients/bypass.js'
import { type ClientKind, detectClient, memberAt } from '../../packages/sdk/src/clients/clients.js'
import { type ClientGovernor, governClient } from '../../packages/sdk/src/clients/govern-client.js'
import type { Shown } from '../../packages/sdk/src/turn/apply-verdict.js'
import type { Came } from '../../packages/sdk/src/turn/read-answer.js'
import { runTurn } from '../../packages/sdk/src/turn/run-turn.js'
import { proves } from '../support/proves.js'
import { fakeTurn } from '../support/provider/fake-turn.js'
import { renderEvents, renderResponse } from '../support/provider/provider-wire.js'

/** What a client sends, as `POST /chat/completions`; ids in paths are `x`. */
type Sent = Set<string>
type Method = (...args: unknown[]) => unknown

/**
 * Every method of the real clients that can be reached is either governed, or refused, or shown to reach only
 * endpoints that call no model. A client version with a method or an endpoint that is not written down here fails.
 */
const CLIENTS: Record<string, ClientUnderProof> = {
  openai: {
    make: (fetch) =>
      new OpenAI({
        apiKey: 'k',
        baseURL: 'http://provider',
        maxRetries: 0,
        logLevel: 'off',
        webhookSecret: 'whsec',
        fetch,
      }),
    harmless: [
      /^POST \/audio\/(speech|transcriptions|translations)$/,
      /^(GET|POST) \/batches(\/x(\/cancel)?)$|^GET \/batches$/,
      /^DELETE \/chat\/completions\/x$/,
      /^(GET|POST|DELETE) \/containers(\/x)?(\/files(\/x(\/content)?)?)?$/,
      /^(GET|POST|DELETE) \/conversations(\/x)?$/,
      /^POST \/embeddings$/,
      /^(GET|POST|DELETE) \/files(\/x(\/content)?)?$/,
      /^POST \/images\/(edits|generations|variations)$/,
      /^(GET|DELETE) \/models(\/x)?$/,
      /^POST \/moderations$/,
      /^DELETE \/responses\/x$/,
      /^POST \/responses\/input_tokens$/,
      /^POST \/uploads(\/x\/(parts|cancel|complete))?$/,
      /^(GET|POST|DELETE) \/vector_stores(\/x)?(\/(files|file_batches)(\/x(\/(content|cancel|files))?)?|\/search)?$/,
    ],
    elsewhere: [
      /^(?!POST )/,
      /^POST \/assistants(\/x)?$/,
      /^POST \/chat\/completions\/x$/,
      /^POST \/chatkit\/sessions\/x\/cancel$/,
      /^POST \/conversations\/x\/items$/,
      /^POST \/(evals|fine_tuning|organization|skills|videos)(\/|$)/,
      /^POST \/responses\/x\/cancel$/,
      /^POST \/threads(\/x)?(\/messages(\/x)?|\/runs\/x(\/cancel)?)?$/,
    ],
    models: [
      'POST /batches',
      'POST /chat/completions',
      'POST /chatkit/sessions',
      'POST /completions',
      'POST /realtime/calls/x/accept',
      'POST /realtime/calls/x/hangup',
      'POST /realtime/calls/x/refer',
      'POST /realtime/calls/x/reject',
      'POST /realtime/client_secrets',
      'POST /realtime/sessions',
      'POST /realtime/transcription_sessions',
      'POST /responses',
      'POST /responses/compact',
      'POST /threads/runs',
      'POST /threads/x/runs',
      'POST /threads/x/runs/x/submit_tool_outputs',
    ],
    local: ['webhooks.unwrap', 'webhooks.verifySignature'],
    refused: {
      admin: 'administration of an organisation',
      'batches.create': 'calls models later, where nothing can be judged',
      beta: 'assistants, threads, realtime and a second set of Responses',
      'chat.completions.list': 'stored answers, with calls that were blocked',
      'chat.completions.messages': 'stored answers, with calls that were blocked',
      'chat.completions.retrieve': 'stored answers, with calls that were blocked',
      'chat.completions.update': 'answers with a stored answer',
      completions: 'calls a model outside chat',
      'conversations.items': 'stored answers, with calls that were blocked',
      evals: 'calls models',
      fineTuning: 'graders call models',
      realtime: 'calls a model over another channel',
      'responses.cancel': 'answers with an answer that was not judged',
      'responses.compact': 'calls a model, and answers with items that were not judged',
      'responses.inputItems': 'stored input, with calls that were blocked',
      'responses.retrieve': 'stored answers, with calls that were blocked',
      skills: 'what a provider runs in its containers',
      videos: 'no use in an agent yet',
    },
  },
  anthropic: {
    make: (fetch) => new Anthropic({ apiKey: 'k', baseURL: 'http://provider', maxRetries: 0, logLevel: 'off', fetch }),
    harmless: [
      /^(GET|POST|DELETE) \/v1\/files(\/x(\/content)?)?$/,
      /^POST \/v1\/messages\/count_tokens$/,
      /^(GET|POST|DELETE) \/v1\/messages\/batches\/x(\/cancel)?$|^GET \/v1\/messages\/batches$/,
      /^GET \/v1\/models(\/x)?$/,
    ],
    elsewhere: [
      /^(?!POST )/,
      /^POST \/v1\/(agents|environments|memory_stores|organizations|skills|tunnels|user_profiles|vaults)(\/|$)/,
      /^POST \/v1\/deployments(\/x(\/(archive|pause|unpause))?)?$/,
      /^POST \/v1\/dreams\/x\/(archive|cancel)$/,
      /^POST \/v1\/sessions\/x(\/archive|\/resources(\/x)?|\/threads\/x\/archive)?$/,
    ],
    models: [
      'POST /v1/deployments/x/run',
      'POST /v1/dreams',
      'POST /v1/messages',
      'POST /v1/messages/batches',
      'POST /v1/sessions',
      'POST /v1/sessions/x/events',
    ],
    local: [],
    refused: {
      beta: 'agents, sessions, deployments, and a second set of messages',
      completions: 'calls a model outside messages',
      'messages.batches.create': 'calls models later, where nothing can be judged',
      'messages.batches.results': 'answers that were not judged',
      organization: 'administration of an organisation',
      skills: 'what a provider runs in its containers',
      userProfiles: 'administration of an organisation',
    },
  },
}

interface ClientUnderProof {
  make(fetch: typeof globalThis.fetch): object
  /** Endpoints that call no model, or only one that knows no tools. */
  harmless: RegExp[]
  /** Endpoints of refused methods that start no answer of a model either. */
  elsewhere: RegExp[]
  /** All others: a request to one on the original client is a bypass. */
  models: string[]
  /** Methods that let through without sending anything. */
  local: string[]
  /** What is refused, by the first part of its path, and why. */
  refused: Record<string, string>
}

/** What both clients have beneath their resources. */
interface Raw {
  get(path: string): Promise<unknown>
  post(path: string, options: object): Promise<unknown>
  request(options: object): Promise<unknown>
  getAPIList(path: string, page: unknown, options: object): PromiseLike<unknown>
  withOptions(options: object): Raw
}

/** Functions in reach: own and inherited, through all resources. Internals begin with `_`; the logger is the program's. */
function methodsOf(root: object): string[] {
  const found: string[] = []
  const seen = new Set<object>()
  const visit = (holder: object, path: string[]): void => {
    if (seen.has(holder)) return
    seen.add(holder)
    for (const name of namesOf(holder)) {
      const value: unknown = Reflect.get(holder, name)
      if (typeof value === 'function') found.push([...path, name].join('.'))
      else if (typeof value === 'object' && value !== null && !Array.isArray(value)) visit(value, [...path, name])
    }
  }
  visit(root, [])
  return found
}

function namesOf(holder: object): Set<string> {
  const names = new Set<string>()
  for (let at: object | null = holder; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const name of Object.getOwnPropertyNames(at)) {
      if (name !== 'constructor' && name !== 'logger' && !name.startsWith('_')) names.add(name)
    }
  }
  return names
}

function recordingFetch(sent: Sent): typeof fetch {
  return async (input, init) => {
    const url = String(input)
    // Uploads ask for an empty data URL, to learn what the platform can do.
    if (url.startsWith('http://provider')) sent.add(`${init?.method?.toUpperCase() ?? 'GET'} ${new URL(url).pathname}`)
    return Response.json({ id: 'x', object: 'x', status: 'completed', data: [], content: [] })
  }
}

const ID_NAMES = ['thread_id', 'run_id', 'vector_store_id', 'batch_id', 'container_id', 'file_id', 'session_id']
const BODY = {
  model: 'm',
  messages: [],
  input: 'x',
  prompt: 'x',
  max_tokens: 1,
  tools: [],
  tool_outputs: [],
  file: new File(['x'], 'x'),
  files: [new File(['x'], 'x')],
  image: new File(['x'], 'x'),
  ...Object.fromEntries(ID_NAMES.map((name) => [name, 'x'])),
}
const ARGUMENTS: unknown[][] = [[BODY], ['x', BODY], ['x', 'x', BODY], ['x']]

/** Calls a method in every way that clients have, and lets it run for a moment. */
async function exercise(call: (args: unknown[]) => unknown): Promise<void> {
  for (const args of ARGUMENTS) {
    try {
      const made = await Promise.race([call(args), pause(20)])
      const { done } = (made ?? {}) as { done?: unknown }
      if (typeof done === 'function') await Promise.race([Reflect.apply(done, made, []), pause(20)])
    } catch {
      // These arguments were not the right ones.
    }
  }
}

function methodAt(client: object, path: string): Method {
  const value = memberAt(client, path)?.value
  if (typeof value !== 'function') throw new Error(`${path} is no method`)
  return value as Method
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

function kindOf(client: object): ClientKind {
  const kind = detectClient(client)
  if (kind === null) throw new Error('the client was not recognised')
  return kind
}

describe.each(Object.entries(CLIENTS))('%s', (_name, proof) => {
  const kind = kindOf(proof.make(fetch))
  const methods = methodsOf(proof.make(fetch))
  const treated = (as: string) => methods.filter((path) => kind.methods.get(path)?.as === as)
  const refused = methods.filter((path) => !kind.methods.has(path))

  function governed(sent: Sent) {
    const judged: string[] = []
    const keepNone = ({ response }: Came): Shown => {
      judged.push(String(response.id))
      return { action: 'keep', callIds: new Set() }
    }
    const client = proof.make(recordingFetch(sent))
    const governor: ClientGovernor = {
      runTurn: (call) => runTurn(fakeTurn(call.provider, keepNone), call),
      assertUsable: () => {},
      binds: () => true,
      send: (call) => call(),
    }
    return { facade: governClient(client, kind, governor), keepNone, judged }
  }

  test('has the methods that the table names', () => {
    const unknown = [...kind.methods.keys()].filter((path) => !methods.includes(path))
    expect(unknown).toEqual([])
    expect(treated('governed').length).toBeGreaterThan(0)
  })

  test('what is refused is refused knowingly', () => {
    const resources = refused.filter((path) => path.includes('.'))
    const covers = (prefix: string, path: string) => path === prefix || path.startsWith(`${prefix}.`)
    const prefixes = Object.keys(proof.refused)
    expect(resources.filter((path) => !prefixes.some((prefix) => covers(prefix, path)))).toEqual([])
    for (const prefix of ['chat.completions', 'responses', 'messages']) expect(prefixes).not.toContain(prefix)
  })

  /** Some send a moment after they were called. */
  const untilSent = (sent: Sent, path: string) =>
    expect
      .poll(() => sent.size > 0 || proof.local.includes(path), { message: `${path} was not seen to send anything` })
      .toBe(true)

  proves('guarantee.no-silent-path', 'a refused method throws and sends nothing', async () => {
    const sent: Sent = new Set()
    const { facade } = governed(sent)
    for (const path of refused) {
      const method = methodAt(facade, path)
      for (const args of ARGUMENTS) expect(() => method(...args), path).toThrow(ReplayConfigError)
    }
    await pause(20)
    expect([...sent]).toEqual([])
    expect(refused).toEqual(expect.arrayContaining(['post', 'request', 'fetchWithTimeout']))
  })

  proves(
    'guarantee.no-silent-path',
    'a method that passes reaches no endpoint that calls a model with tools',
    async () => {
      for (const path of treated('harmless')) {
        const sent: Sent = new Set()
        const { facade } = governed(sent)
        await exercise((args) => methodAt(facade, path)(...args))
        await untilSent(sent, path)
        const harmful = [...sent].filter((one) => !proof.harmless.some((pattern) => pattern.test(one)))
        expect(harmful, path).toEqual([])
      }
    },
  )

  test.each([...treated('governed'), ...treated('helper')])('%s is judged before the program sees it', async (path) => {
    const treatment = kind.methods.get(path)
    if (treatment?.as !== 'governed' && treatment?.as !== 'helper') throw new Error('not a governed method')
    const api = `/${treatment.provider.createPath.replace('.create', '').replace('.', '/')}`
    const wire = api.endsWith('/messages')
      ? 'anthropic-messages'
      : api === '/responses'
        ? 'openai-responses'
        : 'openai-chat'
    const reply = { text: 'Well.', calls: [{ id: 'call_hidden', name: 'refund', arguments: { amount: 1 } }] }
    const answering: typeof fetch = async (_input, init) => {
      const { stream } = JSON.parse(String(init?.body))
      if (stream !== true) return Response.json(renderResponse(wire, reply))
      const body = renderEvents(wire, reply).map((event) => treatment.provider.wire.encode(event))
      const headers = { 'content-type': 'text/event-stream' }
      return new Response(body.join('') + treatment.provider.wire.end, { headers })
    }
    const { keepNone, judged } = governed(new Set())
    const governor: ClientGovernor = {
      runTurn: (call) => runTurn(fakeTurn(call.provider, keepNone), call),
      assertUsable: () => {},
      binds: () => true,
      send: (call) => call(),
    }
    const facade = governClient(proof.make(answering), kind, governor)
    const request = { model: 'm', messages: [{ role: 'user', content: 'x' }], input: 'x', max_tokens: 1 }
    const runs = path.endsWith('runTools') || path.endsWith('toolRunner')
    const made = (await methodAt(facade, path)(runs ? { ...request, tools: [] } : request)) as {
      [key: string]: unknown
    }
    const final = made.finalMessage ?? made.finalResponse ?? made.finalChatCompletion
    const shown = typeof final === 'function' ? await Reflect.apply(final, made, []) : made
    expect(judged).toHaveLength(1)
    expect(JSON.stringify(shown)).toContain('Well.')
    expect(JSON.stringify(shown)).not.toContain('call_hidden')
  })

  function watched(sent: Sent) {
    const noticed: string[] = []
    const watch = createBypassWatch(kind, (method) => noticed.push(method))
    const client = proof.make(recordingFetch(sent))
    watch.watch(client)
    return { client, noticed, watch }
  }

  test('on the original client, a method that reaches a model is noticed, and no other is', async () => {
    const known = [...proof.harmless, ...proof.elsewhere]
    const tried: { path: string; noticed: string[]; toModels: () => string[] }[] = []
    for (const path of methods.filter((one) => one.includes('.'))) {
      const sent: Sent = new Set()
      const { client, noticed } = watched(sent)
      await exercise((args) => Reflect.apply(methodAt(client, path), memberAt(client, path)?.owner, args))
      tried.push({ path, noticed, toModels: () => [...sent].filter((one) => !known.some((each) => each.test(one))) })
    }
    // Some send a moment after they were called.
    const reached = () => [...new Set(tried.flatMap(({ toModels }) => toModels()))].sort()
    await expect.poll(reached).toEqual(proof.models.toSorted())
    for (const { path, noticed, toModels } of tried) {
      await expect.poll(() => noticed.length > 0 === toModels().length > 0, { message: path }).toBe(true)
    }
  })

  test('on the original client, raw requests to a model are noticed, on derived clients too', async () => {
    for (const endpoint of proof.models) {
      const path = endpoint.replace('POST ', '')
      const ways: ((client: Raw) => unknown)[] = [
        (client) => client.post(path, { body: {} }),
        (client) => client.post(`http://provider${path}/?beta=true`, { body: {} }),
        (client) => client.request({ method: 'POST', path, body: {} }),
        (client) => client.request(Promise.resolve({ method: 'post', path, body: {} })),
        (client) => client.getAPIList(path, Object, { method: 'post', body: {} }),
        (client) => client.withOptions({ timeout: 1_000 }).withOptions({}).post(path, { body: {} }),
      ]
      for (const [way, call] of ways.entries()) {
        const { client, noticed } = watched(new Set())
        await Promise.resolve(call(client as Raw)).catch(() => {})
        expect(noticed, `${path}, way ${way}`).toHaveLength(1)
        expect(noticed[0]).toMatch(/^POST /)
      }
    }
    const { client, noticed, watch } = watched(new Set())
    const raw = client as Raw
    await raw.get('/models')
    await raw.post('/embeddings', { body: {} })
    await watch.unseen(() => raw.post(proof.models[0]?.replace('POST ', '') ?? '', { body: {} }))
    expect(noticed).toEqual([])
  })

  test('nothing leads from the governed client back to the original', () => {
    const client = proof.make(fetch)
    const facade = governClient(client, kind, {
      runTurn: () => {
        throw new Error('no turn here')
      },
      assertUsable: () => {},
      binds: () => true,
      send: (call) => call(),
    })
    const seen = new Set<object>()
    const originals = new Set<unknown>([client])
    for (const path of methodsOf(client)) {
      const member = memberAt(client, path)
      originals.add(member?.owner).add(member?.value)
    }
    const visit = (holder: object): void => {
      if (seen.has(holder)) return
      seen.add(holder)
      const real = memberNames(holder)
      for (const name of real) {
        const value: unknown = Reflect.get(holder, name)
        expect(originals.has(value), name).toBe(false)
        if (typeof value === 'object' && value !== null && name !== 'logger') visit(value)
      }
    }
    visit(facade)
    expect(seen.size).toBeGreaterThan(10)
  })
})

/** All names that could be asked of a facade, internals of the clients included. */
function memberNames(holder: object): Set<string> {
  return new Set([...namesOf(holder), ...INTERNALS, ...RESOURCES])
}
const INTERNALS = ['_client', '_options', 'client', 'constructor', '__proto__', 'fetch', 'post']
const RESOURCES = [
  'chat',
  'completions',
  'responses',
  'messages',
  'beta',
  'batches',
  'embeddings',
  'models',
  'files',
  'threads',
  'runs',
]
