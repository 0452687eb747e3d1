import { z } from 'zod'
import { API_KEY_PATTERN } from './base/ids.js'
import { problemSchema } from './http/problem.js'
import { pathTemplate, type Route } from './http/route.js'
import { ROUTES } from './routes.js'

type Schema = Record<string, unknown>

const jsonSchema = (schema: z.ZodType, io: 'input' | 'output'): Schema => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any', reused: 'inline' }) as Schema
  return rest
}

const content = (schema: Schema, type = 'application/json') => ({ content: { [type]: { schema } } })

const parameters = (schema: z.ZodObject | undefined, where: 'path' | 'query') =>
  schema === undefined
    ? []
    : Object.entries(schema.shape).map(([name, field]) => ({
        name,
        in: where,
        required: where === 'path' || !z.safeParse(field as z.ZodType, undefined).success,
        schema: jsonSchema(field as z.ZodType, 'input'),
      }))

function operation(name: string, route: Route): Schema {
  return {
    operationId: name,
    summary: route.summary,
    security: route.auth === 'none' ? [] : [{ [route.auth]: [] }],
    'x-throttle': route.throttle,
    parameters: [...parameters(route.params, 'path'), ...parameters(route.query, 'query')],
    ...(route.body === undefined
      ? {}
      : { requestBody: { required: true, ...content(jsonSchema(route.body, 'input')) } }),
    responses: {
      [route.status ?? 200]: { description: 'done', ...content(jsonSchema(route.reply, 'output')) },
      default: {
        description: 'a problem',
        ...content({ $ref: '#/components/schemas/Problem' }, 'application/problem+json'),
      },
    },
  }
}

/** The OpenAPI 3.1 document of every route, generated from the rows. */
export function openApiDocument(): Schema {
  const paths: Record<string, Schema> = {}
  for (const [name, route] of Object.entries<Route>(ROUTES)) {
    const path = pathTemplate(route)
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(name, route) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Countersign', version: '1', description: 'Governs the tool calls an LLM agent proposes.' },
    servers: [{ url: 'http://127.0.0.1:4319' }],
    paths,
    components: {
      schemas: { Problem: jsonSchema(problemSchema, 'output') },
      securitySchemes: {
        api_key: { type: 'http', scheme: 'bearer', bearerFormat: API_KEY_PATTERN.source },
        cookie: { type: 'apiKey', in: 'cookie', name: 'countersign_access' },
      },
    },
  }
}
