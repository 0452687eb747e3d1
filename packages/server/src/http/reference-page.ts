import { createHash } from 'node:crypto'
import { ERRORS, openApiDocument, pathTemplate, ROUTES, type Route } from '@countersign/protocol'

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
code, pre { font: .875rem/1.5 ui-monospace, monospace }
pre { overflow-x: auto; padding: .75rem; border: 1px solid #8884; border-radius: .25rem }
section { border-top: 1px solid #8884; padding-top: .5rem; margin-top: 1.5rem }
td, th { text-align: left; padding: .125rem 1rem .125rem 0; vertical-align: top }
`

/** Only its own style may be used, named by its hash; nothing is loaded and nothing runs. */
export const REFERENCE_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; frame-ancestors 'none'`,
}

/** The readable reference: every route with its shapes, made from the same rows that serve the requests. */
export function referencePage(): string {
  const { paths, components } = openApiDocument() as {
    paths: Record<string, Record<string, Operation>>
    components: { schemas: Record<string, unknown> }
  }
  const routes = Object.entries<Route>(ROUTES)
  const sections = routes.map(([name, route]) => {
    const path = pathTemplate(route)
    return section({ name, path, route, operation: paths[path]?.[route.method.toLowerCase()] })
  })
  const shapes = Object.entries(components.schemas).map(
    ([name, schema]) => `<h3 id="${SHAPE}${name}">${name}</h3><pre>${linkedJson(schema)}</pre>`,
  )
  const links = routes.map(
    ([name, { summary }]) => `<tr><td><a href="#${name}">${name}</a></td><td>${escapeHtml(summary)}</td></tr>`,
  )
  const errors = Object.entries(ERRORS).map(
    ([code, { status, title, fix }]) =>
      `<tr><td>${status}</td><td><code>${code}</code></td><td>${escapeHtml(title)}</td><td>${escapeHtml(fix)}</td></tr>`,
  )
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Countersign API</title><style>${STYLE}</style></head>
<body><h1>Countersign API</h1>
<p>As a document for programs: <a href="/openapi.json">openapi.json</a>. Under <code>/api/v1/</code> send <code>Authorization: Bearer csk_…</code>.</p>
<table>${links.join('')}</table>
${sections.join('\n')}
<section id="shapes"><h2>Shapes</h2>${shapes.join('\n')}</section>
<section id="errors"><h2>Errors</h2><p>Problem details (RFC 9457) with a stable <code>code</code>.</p><table>${errors.join('')}</table></section>
</body></html>
`
}

interface Operation {
  parameters?: readonly { name: string; in: string; required: boolean }[]
  requestBody?: { content: Record<string, { schema: unknown }> }
  responses?: Record<string, { content?: Record<string, { schema: unknown }> }>
}

const AUTHENTICATIONS = { api_key: 'API key', cookie: 'signed-in person', none: 'none' } as const

function section(entry: { name: string; path: string; route: Route; operation: Operation | undefined }): string {
  const { name, path, route, operation } = entry
  const parameters = (operation?.parameters ?? []).map(
    (given) => `${given.name} (${given.in}${given.required ? '' : ', optional'})`,
  )
  const facts = [`authentication: ${AUTHENTICATIONS[route.auth]}`, `bucket: ${route.throttle}`, ...parameters]
  const body = operation?.requestBody?.content['application/json']?.schema
  const reply = operation?.responses?.[route.status ?? 200]?.content?.['application/json']?.schema
  return `<section id="${name}"><h2>${name}</h2><p><code>${route.method} ${escapeHtml(path)}</code></p><p>${escapeHtml(route.summary)}</p>
<p>${facts.map(escapeHtml).join(' · ')}</p>${shape('body', body)}${shape(`answer (${route.status ?? 200})`, reply)}</section>`
}

/** The line of an operation that links to what it takes or replies with. */
const shape = (title: string, schema: unknown) =>
  schema === undefined ? '' : `<p>${title}: <code>${linkedJson(schema)}</code></p>`

const SHAPE = 'shape-'
/** JSON in which a reference is a link to its shape. */
const linkedJson = (schema: unknown) =>
  escapeHtml(JSON.stringify(schema, null, 2)).replaceAll(
    /\{\s*&quot;\$ref&quot;: &quot;#\/components\/schemas\/(\w+)&quot;\s*\}/g,
    `<a href="#${SHAPE}$1">$1</a>`,
  )

const escapeHtml = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
