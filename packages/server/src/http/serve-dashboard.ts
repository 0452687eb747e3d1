import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, extname, join, relative, sep } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { HttpRequest } from '../context/http-request.js'
import type { Reply } from './error-reply.js'

/** Replies with a file of the dashboard, or null where the path is none of its own. */
export type Dashboard = (request: Pick<HttpRequest, 'path' | 'header'>) => Reply | null

/**
 * The built dashboard, read into memory at the start: what is not in the folder then cannot be asked for, whatever the
 * path says. Addresses of pages all get index.html, which shows the page by itself.
 */
export function openDashboard(configured: string | null): Dashboard {
  const folder = configured ?? builtDashboard()
  const files = folder === null ? new Map<string, PageFile>() : readFiles(folder)
  const index = files.get('/index.html')
  return (request) => {
    const { path } = request
    if (path === null || path === '/api' || path.startsWith('/api/')) return null
    const found = files.get(path) ?? (path.startsWith('/assets/') ? undefined : index)
    if (found !== undefined) return fileReply(found, request.header)
    return index === undefined && !path.startsWith('/assets/') ? notBuilt() : null
  }
}

interface PageFile {
  readonly content: Buffer
  readonly type: string
  readonly etag: string
  readonly cacheControl: string
  /** Made at the first request that takes it; null where it would save nothing. */
  packed?: Buffer | null
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
  '.txt': 'text/plain; charset=utf-8',
}

/** Nothing inline, nothing from elsewhere, framed by nobody. */
const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
  'cross-origin-opener-policy': 'same-origin',
  vary: 'accept-encoding',
} as const

function fileReply(file: PageFile, header: HttpRequest['header']): Reply {
  const headers = { ...PAGE_HEADERS, etag: file.etag, 'cache-control': file.cacheControl }
  if (header('if-none-match') === file.etag) return { status: 304, body: '', headers }
  const packed = /\bgzip\b/.test(header('accept-encoding') ?? '') ? packedOf(file) : null
  return {
    status: 200,
    body: packed ?? file.content,
    headers: { ...headers, 'content-type': file.type, ...(packed === null ? {} : { 'content-encoding': 'gzip' }) },
  }
}

function packedOf(file: PageFile): Buffer | null {
  if (file.packed === undefined) {
    const packed = gzipSync(file.content, { level: 9 })
    file.packed = packed.length < file.content.length ? packed : null
  }
  return file.packed
}

function readFiles(folder: string): Map<string, PageFile> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return new Map(
    entries.map((entry) => {
      const path = join(entry.parentPath, entry.name)
      const content = readFileSync(path)
      const name = `/${relative(folder, path).split(sep).join('/')}`
      // Names under /assets/ hold a hash of the content, so they never change their meaning.
      const cacheControl = name.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache'
      const etag = `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`
      return [name, { content, type: TYPES[extname(name)] ?? 'application/octet-stream', etag, cacheControl }]
    }),
  )
}

/** The dashboard that is installed beside the server; null where there is none or it is not built. */
function builtDashboard(): string | null {
  try {
    const manifest = createRequire(import.meta.url).resolve('@countersign/dashboard/package.json')
    const folder = join(dirname(manifest), 'dist')
    readdirSync(folder)
    return folder
  } catch {
    return null
  }
}

const notBuilt = (): Reply => ({
  status: 404,
  body: 'The dashboard is not built here: run npm run build, or set the dashboard folder. The API works.\n',
  headers: { 'content-type': 'text/plain; charset=utf-8' },
})
