import { expect, test } from 'vitest'
import { proves } from '../../../test/support/proves.js'
import type { Route } from './http/route.js'
import { openApiDocument } from './openapi.js'
import { ROUTES } from './routes.js'

type Node = Readonly<Record<string, unknown>>
interface Operation extends Node {
  readonly operationId: string
  readonly requestBody?: Content
  readonly responses: Readonly<Record<string, Content>>
}
interface Content {
  readonly content: Readonly<Record<string, { readonly schema: { readonly $ref?: string } }>>
}

const document = openApiDocument() as Node & {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Node>> }
}
const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))
const schemas = document.components.schemas
const references = [...JSON.stringify(document).matchAll(/"\$ref":"#([^"]*)"/g)].map((match) => match[1] ?? '')

/** Every object at and below a value, with the way to it. */
function* nodes(value: unknown, path: string): Generator<readonly [string, Node]> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield [path, value as Node]
  for (const [key, inner] of Object.entries(value)) yield* nodes(inner, `${path}/${key}`)
}

test('every route is there once', () => {
  expect(operations.map(({ operationId }) => operationId).sort()).toEqual(Object.keys(ROUTES).sort())
})

test.each(operations.map((operation) => [operation.operationId, operation] as const))(
  '%s takes and answers with named shapes',
  (_name, { requestBody, responses }) => {
    const { default: problem, ...replies } = responses
    expect(problem).toEqual({ $ref: '#/components/responses/Problem' })
    for (const { content } of [...(requestBody ? [requestBody] : []), ...Object.values(replies)])
      expect(content['application/json']?.schema).toEqual({
        $ref: expect.stringMatching(/^#\/components\/schemas\/\w+$/),
      })
  },
)

proves('reference.bodies', async () => {
  const bodyOf = (name: string) => {
    const found = operations.find(({ operationId }) => operationId === name)?.requestBody
    const reference = found?.content['application/json']?.schema.$ref ?? ''
    return schemas[reference.replace('#/components/schemas/', '')]
  }
  for (const [name, { body }] of Object.entries<Route>(ROUTES)) {
    if (body !== undefined) expect([name, bodyOf(name)]).toEqual([name, expect.objectContaining({ type: 'object' })])
  }
  for (const name of ['signup', 'login', 'forgotPassword', 'resendVerification'])
    expect([name, bodyOf(name)?.properties]).toEqual([name, expect.objectContaining({ email: expect.anything() })])
})

test('every reference leads to something in the document', () => {
  expect(references.length).toBeGreaterThan(0)
  for (const reference of new Set(references)) {
    const found = reference
      .split('/')
      .slice(1)
      .reduce<unknown>((at, key) => (at as Node | undefined)?.[key], document)
    expect([reference, typeof found]).toEqual([reference, 'object'])
  }
})

test('every component is used', () => {
  const used = new Set(references)
  expect(Object.keys(schemas).filter((name) => !used.has(`/components/schemas/${name}`))).toEqual([])
})

test('a shape that is used twice has a name', () => {
  const seen = new Set(Object.values(schemas).map((schema) => JSON.stringify(schema)))
  const repeated: string[] = []
  for (const [path, node] of inlineShapes()) {
    const text = JSON.stringify(node)
    if (seen.has(text)) repeated.push(path)
    seen.add(text)
  }
  expect(repeated).toEqual([])
})

/** Objects with members and enumerations that stand inside a component. */
function* inlineShapes(): Generator<readonly [string, Node]> {
  for (const [name, schema] of Object.entries(schemas))
    for (const [path, node] of nodes(schema, name)) {
      const isShape = typeof node.properties === 'object' || Array.isArray(node.enum)
      if (isShape && node !== schema && !path.endsWith('/properties')) yield [path, node]
    }
}

test('every type is one that JSON Schema knows', () => {
  const types = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']
  for (const [path, node] of nodes(schemas, ''))
    if (!path.endsWith('/properties') && 'type' in node)
      for (const type of [node.type].flat()) expect([path, types.includes(type as string)]).toEqual([path, true])
})
