import { isObject } from '../base/json-object.js'
import { anthropic, anthropicBeta } from '../providers/anthropic/anthropic.js'
import { openaiChat } from '../providers/openai-chat/openai-chat.js'
import { openaiResponses } from '../providers/openai-responses/openai-responses.js'
import type { Provider, ProviderName } from '../providers/provider.js'

/** A kind of model client, recognised by its shape. */
export interface ClientKind {
  readonly name: ProviderName
  matches(client: object): boolean
  /** What each method may do through a governed client. A method that is not named is refused. */
  readonly methods: ReadonlyMap<string, Treatment>
  /** Members that both clients mark as internal, and that a helper looks for on the client which it is given. */
  readonly internals?: ReadonlyMap<string, Treatment>
  /** Paths that a POST reaches a model by which may call tools, whatever stands before them. */
  readonly modelEndpoints: RegExp
}

/**
 * `governed` calls a model, and every call of it is a turn.
 * `helper` calls a governed method of the client that it is given, and is given the governed one.
 * `harmless` cannot bring a tool call. `derives` makes another client, which is governed too.
 */
export type Treatment =
  | { as: 'governed'; provider: Provider }
  | { as: 'helper'; provider: Provider }
  | { as: 'harmless' }
  | { as: 'derives' }

/** The kind of a client; null when its shape is not known. */
export function detectClient(client: unknown): ClientKind | null {
  if (!isObject(client)) return null
  return CLIENT_KINDS.find((kind) => kind.matches(client)) ?? null
}

/** Why a client is of no known kind, with what is most often meant instead. */
export function whyUnknown(client: unknown): string {
  if (client instanceof Promise) return 'the client is a Promise: await it first'
  if (typeof client === 'function') return 'the client is a class or a function: pass an instance, such as new OpenAI()'
  return 'the client has neither chat.completions.create, responses.create nor messages.create'
}

/** The value at a path such as `chat.completions.create`, with the object that holds it; null when there is none. */
export function memberAt(client: object, path: string): { owner: object; value: unknown } | null {
  const names = path.split('.')
  const last = names.pop() ?? ''
  let owner: unknown = client
  for (const name of names) {
    if (!isObject(owner)) return null
    owner = owner[name]
  }
  return isObject(owner) && last in owner ? { owner, value: owner[last] } : null
}

function hasMethod(client: object, path: string): boolean {
  return typeof memberAt(client, path)?.value === 'function'
}

const governed = (provider: Provider): [string, Treatment] => [provider.createPath, { as: 'governed', provider }]

const helpers = (provider: Provider, ...names: string[]): [string, Treatment][] =>
  names.map((name) => [provider.createPath.replace(/create$/, name), { as: 'helper', provider }])

/** `files: 'create list'` stands for `files.create` and `files.list`. */
const passing = (methods: Record<string, string>): [string, Treatment][] =>
  Object.entries(methods).flatMap(([resource, names]) =>
    names.split(' ').map((name): [string, Treatment] => [`${resource}.${name}`, { as: 'harmless' }]),
  )

/** Whole path segments, at the end of a path. */
const endpoints = (...patterns: string[]): RegExp => new RegExp(`(^|/)(${patterns.join('|')})$`)

const openai: ClientKind = {
  name: 'openai',
  matches: (client) => hasMethod(client, 'chat.completions.create') || hasMethod(client, 'responses.create'),
  modelEndpoints: endpoints(
    'chat/completions',
    'completions',
    'responses(/compact)?',
    'batches',
    'chatkit/sessions',
    'realtime/.+',
    'threads(/[^/]+)?/runs(/[^/]+/submit_tool_outputs)?',
  ),
  methods: new Map([
    governed(openaiChat),
    governed(openaiResponses),
    ...helpers(openaiChat, 'parse', 'stream', 'runTools'),
    ...helpers(openaiResponses, 'parse', 'stream'),
    ['withOptions', { as: 'derives' }],
    ...passing({
      'audio.speech': 'create',
      'audio.transcriptions': 'create',
      'audio.translations': 'create',
      batches: 'retrieve list cancel',
      'chat.completions': 'delete',
      containers: 'create retrieve list delete',
      'containers.files': 'create retrieve list delete',
      'containers.files.content': 'retrieve',
      conversations: 'create retrieve update delete',
      embeddings: 'create',
      files: 'create retrieve list delete content waitForProcessing',
      images: 'createVariation edit generate',
      models: 'retrieve list delete',
      moderations: 'create',
      responses: 'delete',
      'responses.inputTokens': 'count',
      uploads: 'create cancel complete',
      'uploads.parts': 'create',
      vectorStores: 'create retrieve update list delete search',
      'vectorStores.files': 'create retrieve update list delete createAndPoll poll upload uploadAndPoll content',
      'vectorStores.fileBatches': 'create retrieve cancel createAndPoll listFiles poll uploadAndPoll',
      webhooks: 'unwrap verifySignature',
    }),
  ]),
}

const anthropicClient: ClientKind = {
  name: 'anthropic',
  internals: new Map(helpers(anthropicBeta, '_toolRunnerThread')),
  matches: (client) => hasMethod(client, 'messages.create'),
  modelEndpoints: endpoints(
    'v1/messages(/batches)?',
    'v1/complete',
    'v1/sessions(/[^/]+/events)?',
    'v1/deployments/[^/]+/run',
    'v1/dreams',
  ),
  methods: new Map([
    governed(anthropic),
    governed(anthropicBeta),
    ...helpers(anthropic, 'parse', 'stream'),
    ...helpers(anthropicBeta, 'parse', 'stream', 'toolRunner'),
    ['withOptions', { as: 'derives' }],
    ...passing({
      messages: 'countTokens',
      'messages.batches': 'retrieve list delete cancel',
      models: 'retrieve list',
      files: 'list delete download retrieveMetadata upload',
      'beta.files': 'list delete download retrieveMetadata upload',
      'beta.messages': 'countTokens',
      'beta.models': 'retrieve list',
    }),
  ]),
}

const CLIENT_KINDS: readonly ClientKind[] = [openai, anthropicClient]
