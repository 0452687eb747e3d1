import type { Bugs } from './sabotages.js'

/** What a connection and the head of a request may be. */
export const wireSabotages: Bugs = {
  'packages/server/src/http/client-address.ts': [
    { breaks: 'limit.fair.forwarded', from: 'hop < MOST_HOPS && ', to: '' },
    {
      breaks: 'limit.fair.forwarded',
      from: "const hops = headerOf(rawHeaders, 'x-forwarded-for') ?? ''",
      to: "const hops = (headerOf(rawHeaders, 'x-forwarded-for') ?? '').split(',').map((hop) => plain(hop.trim())).join(',')",
    },
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
      from: "(takesAny(route) || error.code === 'INVALID_REQUEST')",
      to: "error.code === 'INVALID_REQUEST'",
    },
    {
      breaks: 'limit.query.length',
      from: 'query.length > LIMITS.queryLength',
      to: 'query.length > 2 * LIMITS.queryLength',
    },
    { breaks: 'limit.memory.open-bodies', from: "  if (route.auth === 'none') return LIMITS.openBodyBytes\n", to: '' },
  ],
  'packages/server/src/http/connections.ts': [
    {
      breaks: 'limit.connections.networks',
      from: "const address = plainAddress(socket.remoteAddress ?? '')",
      to: "const address = socket.remoteAddress ?? ''",
    },
    {
      breaks: 'limit.connections.displaced',
      from: 'if (oldest.underWay?.complete) {',
      to: 'if (oldest.underWay !== null) {',
    },
  ],
  'packages/server/src/http/open-requests.ts': [
    {
      breaks: 'limit.connections.open-requests',
      from: 'const owner = isStop ? `${sender} stop` : sender',
      to: 'const owner = sender',
    },
  ],
  'packages/server/src/http/http-server.ts': [
    { breaks: 'limit.connections.pipelined', from: 'const MAX_PIPELINED = 2', to: 'const MAX_PIPELINED = 3' },
    {
      breaks: 'limit.connections.header-lines',
      from: 'server.maxHeadersCount = 2 * LIMITS.headerLines',
      to: 'server.maxHeadersCount = LIMITS.headerLines / 2',
    },
    { breaks: 'limit.connections.heads', from: ', requireHostHeader: false }', to: ' }' },
    { breaks: 'limit.connections.heads', from: "  server.on('checkExpectation', serveRight)\n", to: '' },
  ],
}
