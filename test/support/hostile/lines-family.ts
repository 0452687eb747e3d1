import { connect } from 'node:net'
import type { Family, Genes } from './request.js'
import { gene, oneOf } from './values.js'

/** Where a request says something before its body. */
const PLACES: readonly ((text: string, key: string) => string[])[] = [
  (text) => [`GET /${text} HTTP/1.1`],
  (text) => [`GET /api/v1/replay/sessions/${text}/export HTTP/1.1`],
  (text) => [`GET /api/v1/replay/sessions?${text} HTTP/1.1`],
  (text) => [`GET /api/v1/replay/sessions?agent=${text} HTTP/1.1`],
  (text) => [`GET /api/v1/replay/sessions?cursor=${text} HTTP/1.1`],
  (text) => [`GET /api/sessions?q=${text} HTTP/1.1`],
  (text) => ['GET /api/me HTTP/1.1', `Cookie: ${text}`],
  (text) => ['GET /api/me HTTP/1.1', `Cookie: countersign_session=${text}`],
  ...[
    ...['X-Forwarded-For', 'Forwarded', 'Accept', 'Accept-Encoding', 'Accept-Language', 'Authorization', 'Origin'],
    ...['Referer', 'User-Agent', 'Traceparent', 'Baggage', 'If-None-Match', 'Range', 'Cache-Control', 'Connection'],
    ...['Content-Type', 'X-Request-Id', 'Idempotency-Key', 'Last-Event-Id', 'Sec-Fetch-Site', 'X'],
  ].map((header) => (text: string, key: string) => [
    'GET /api/v1/replay/sessions HTTP/1.1',
    ...(header === 'Authorization' ? [] : [`Authorization: Bearer ${key}`]),
    `${header}: ${text}`,
  ]),
]

const PIECES = [
  ...[
    ',',
    ';',
    '=',
    ' ',
    '\t',
    '/',
    '..',
    '/..',
    '%2e',
    '%2F',
    '%00',
    '%',
    '?',
    '&',
    'a=b&',
    'a=b; ',
    '"',
    '\\',
    ':',
    '-',
  ],
  ...[
    'a',
    'a,',
    '1.2.3.4,',
    '::1,',
    'gzip;q=0.5,',
    'en-US,',
    '"a",',
    'bytes=0-1,',
    '0',
    'f',
    'é',
    '+',
    '[',
    '(',
    '*',
    '#',
  ],
]

/** Requests whose lines are long, of all that a client may send before a body, on several connections at once. */
export const lines: Omit<Family, 'build'> = {
  name: 'lines before a body',
  genes: {
    place: [0, PLACES.length - 1],
    piece: [0, PIECES.length - 1],
    piece2: [0, PIECES.length - 1],
    each: [1, 64],
    length: [1, 15_500],
    more: [0, 90],
    together: [1, 6],
    connections: [1, 64],
  },
}

/** What one connection sends. */
function linesOf(genes: Genes, host: string, key: string): string {
  const unit = oneOf(PIECES, genes.piece).repeat(gene(genes, 'each')) + oneOf(PIECES, genes.piece2)
  const text = unit.repeat(Math.ceil(gene(genes, 'length') / unit.length)).slice(0, gene(genes, 'length'))
  const more = Array.from({ length: gene(genes, 'more') }, (_, at) => `X-More-${at}: ${unit.slice(0, 20)}`)
  const head = [...oneOf(PLACES, genes.place)(text, key), `Host: ${host}`, ...more]
  return `${head.join('\r\n')}\r\n\r\n`.repeat(gene(genes, 'together'))
}

/** Sends it on all connections at once, and waits until each was answered or ended. */
export async function sendLines(genes: Genes, url: string, key: string): Promise<number> {
  const { host, hostname, port } = new URL(url)
  const text = linesOf(genes, host, key)
  const sendOne = () =>
    new Promise<void>((done) => {
      const socket = connect(Number(port), hostname, () => socket.write(text))
      // The last answer is there when nothing more comes.
      socket.setTimeout(SILENT_MS, () => socket.destroy())
      socket.on('data', () => {})
      socket.on('error', () => {})
      socket.on('close', () => done())
    })
  await Promise.all(Array.from({ length: gene(genes, 'connections') }, sendOne))
  return text.length * gene(genes, 'connections')
}

const SILENT_MS = 200
