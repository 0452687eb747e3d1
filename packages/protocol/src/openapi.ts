import type { z } from 'zod'
import { API_KEY_PATTERN } from './base/ids.js'
import { problemSchema } from './http/problem.js'
import { pathTemplate, type Route } from './http/route.js'
import { type JsonSchema, type NamedSchemas, namedSchemas } from './named-schemas.js'
import { ROUTES } from './routes.js'

/** The OpenAPI 3.1 document of every route, generated from the rows. */
export function openApiDocument(): JsonSchema {
  const schemas = namedSchemas()
  const paths: Record<string, JsonSchema> = {}
  for (const [name, route] of Object.entries<Route>(ROUTES)) {
    const path = pathTemplate(route)
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(name, route, schemas) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Countersign', version: '1', description: 'Governs the tool calls an LLM agent proposes.' },
    servers: [{ url: 'http://127.0.0.1:4319' }],
    paths,
    components: {
      schemas: schemas.components,
      responses: {
        Problem: { description: 'a problem', ...content(schemas.replyRef(problemSchema), 'application/problem+json') },
      },
      securitySchemes: {
        api_key: { type: 'http', scheme: 'bearer', bearerFormat: API_KEY_PATTERN.source },
        cookie: { type: 'apiKey', in: 'cookie', name: 'countersign_access' },
      },
    },
  }
}

function operation(name: string, route: Route, schemas: NamedSchemas): JsonSchema {
  return {
    operationId: name,
    summary: route.summary,
    security: route.auth === 'none' ? [] : [{ [route.auth]: [] }],
    'x-throttle': route.throttle,
    parameters: [...parameters(route.params, 'path', schemas), ...parameters(route.query, 'query', schemas)],
    ...(route.body && { requestBody: { required: isNeeded(route), ...content(schemas.bodyRef(route.body)) } }),
    responses: {
      [route.status ?? 200]: { description: 'done', ...content(schemas.replyRef(route.reply)) },
      default: { $ref: '#/components/responses/Problem' },
    },
  }
}

/** Where none is needed, `{}` is taken, too. */
const isNeeded = ({ body, lenientBody }: Route): boolean => !(lenientBody && body?.safeParse({}).success)

function parameters(schema: z.ZodObject | undefined, where: 'path' | 'query', schemas: NamedSchemas): JsonSchema[] {
  if (schema === undefined) return []
  const { properties = {}, required = [] } = schemas.parameters(schema) as {
    properties?: Record<string, JsonSchema>
    required?: readonly string[]
  }
  return Object.entries(properties).map(([name, field]) => ({
    name,
    in: where,
    required: required.includes(name),
    schema: field,
  }))
}

const content = (schema: JsonSchema, type = 'application/json') => ({ content: { [type]: { schema } } })
