import { anthropic } from '../providers/anthropic/anthropic.js'
import { openaiChat } from '../providers/openai-chat/openai-chat.js'
import { openaiResponses } from '../providers/openai-responses/openai-responses.js'
import type { Provider } from '../providers/provider.js'

/** What a request over the wire may do. Requests are let through by name, so that an unknown one is refused. */
export type Endpoint =
  | { readonly as: 'governed'; readonly provider: Provider }
  | { readonly as: 'harmless' }
  | { readonly as: 'refused' }

/** Whatever stands before the path, such as a gateway's prefix or a deployment. */
export function endpointOf(method: string, url: string): Endpoint {
  const { protocol, pathname } = new URL(url)
  if (!/^https?:$/.test(protocol)) return REFUSED
  const path = pathname.replace(/\/+$/, '')
  const governed = method === 'POST' ? GOVERNED.find(([end]) => end.test(path)) : undefined
  if (governed !== undefined) return { as: 'governed', provider: governed[1] }
  const isHarmless = HARMLESS.some(([methods, ends]) => methods.split(' ').includes(method) && ends.test(path))
  return isHarmless ? { as: 'harmless' } : REFUSED
}

const REFUSED: Endpoint = { as: 'refused' }

const GOVERNED: readonly [RegExp, Provider][] = [
  [/\/chat\/completions$/, openaiChat],
  [/\/responses$/, openaiResponses],
  [/\/v1\/messages$/, anthropic],
]

const ID = '[^/]+'
/** Whole path segments, at the end of a path. */
const ends = (...patterns: string[]): RegExp => new RegExp(`/(${patterns.join('|')})$`)

/** What cannot bring a tool call. What reads a stored answer back is not among it: that may hold blocked calls. */
const HARMLESS: readonly [methods: string, ends: RegExp][] = [
  ['GET HEAD', ends('models', `models/${ID}`, 'batches', `batches/${ID}`)],
  [
    'POST',
    ends(
      'embeddings',
      'moderations',
      'messages/count_tokens',
      'responses/input_tokens',
      'audio/(speech|transcriptions|translations)',
      'images/(generations|edits|variations)',
      `batches/${ID}/cancel`,
    ),
  ],
  ['DELETE', ends(`models/${ID}`, `chat/completions/${ID}`, `responses/${ID}`)],
  ['GET POST DELETE', ends('conversations', `conversations/${ID}`)],
  ['GET POST DELETE', ends('files', `files/${ID}`, `files/${ID}/content`)],
  ['GET POST DELETE', ends('uploads', `uploads/${ID}`, `uploads/${ID}/(parts|complete|cancel)`)],
  ['GET POST DELETE', ends('vector_stores', `vector_stores/${ID}(/(search|files|file_batches)(/${ID})*)?`)],
]
