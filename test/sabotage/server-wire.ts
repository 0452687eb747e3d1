import type { Bugs } from './sabotages.js'

/** What a connection and the head of a request may be. */
export const wireSabotages: Bugs = {
  'packages/server/src/entry/metrics-token.ts': [
    {
      breaks: 'metrics.token',
      from: "throw new ApiError('NOT_FOUND', { detail",
      to: "throw new ApiError('INTERNAL', { detail",
    },
  ],
  'packages/server/src/base/metrics.ts': [
    { breaks: 'metrics.from-zero', from: 'for (const series of from) counter.inc(series, 0)', to: '' },
  ],
  'packages/server/src/context/http-request.ts': [
    {
      breaks: 'limit.path.names',
      from: 'const path = end === -1 ? sent : sent.slice(0, end)',
      to: "const path = new URL(end === -1 ? sent : sent.slice(0, end), 'http://x').pathname",
    },
  ],
  'packages/server/src/http/parse-input.ts': [
    {
      breaks: 'endpoint.stops-need-nothing',
      from: "(takesAnyBody(route) || error.code === 'INVALID_REQUEST')",
      to: "error.code === 'INVALID_REQUEST'",
    },
    {
      breaks: 'limit.query.length',
      from: 'query.length > LIMITS.queryLength',
      to: 'query.length > 2 * LIMITS.queryLength',
    },
  ],
  'packages/server/src/http/bodies.ts': [
    { breaks: 'limit.memory.open-bodies', from: "route.auth === 'none' || ", to: '' },
    { breaks: 'limit.memory.bodies', from: 'held + bytes > MOST_BYTES', to: 'false' },
    {
      breaks: 'wire.table',
      from: '  if (route.body === undefined) {\n    if (hasBody(request))',
      to: '  if (route.body === undefined) {\n    if (false)',
    },
  ],
  'packages/server/src/http/wire.ts': [
    {
      breaks: 'limit.connections.header-lines',
      from: 'incoming.rawHeaders.length > 2 *',
      to: 'incoming.rawHeaders.length > 4 *',
    },
    { breaks: 'wire.table', from: 'requireHostHeader: false', to: 'requireHostHeader: true' },
  ],
  'packages/server/src/http/app.ts': [
    { breaks: 'limit.connections.count', from: '  app.server.maxConnections = config.maxConnections\n', to: '' },
  ],
}
