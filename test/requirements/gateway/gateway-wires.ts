import type { Facts } from '../facts.js'

export const gatewayWires = {
  'gateway.wires':
    'Official clients of OpenAI and Anthropic are governed by changing their base URL alone, plain and streamed',
  'gateway.start':
    'At its start the gateway says its mode, environment and upstreams, and whether the service answers and takes the key',
  'gateway.byte-equal': 'Where nothing is blocked, the client gets the bytes of the upstream',
  'gateway.cases':
    'a program with openai 6 or 7 and another base URL comes to the verdicts of every face, with receipts that are reported',
  'gateway.mcp-cases':
    'an agent without any SDK, whose model and whose MCP tools pass the gateway, comes to the verdicts of every face, with receipts that are executed',
  'gateway.matched':
    'A call of an MCP tool that the model proposed in the same session runs under that decision and its id, once; it is judged no second time',
  'gateway.claimed':
    'A call that a model proposed runs in one of the processes that hold the session, whichever asks first; one that dies with it leaves it in doubt, and it runs no second time',
  'gateway.require-proposal':
    'With require-proposal a call of an MCP tool that no model proposed in the session does not run, and the ledger shows it',
  'gateway.one-session':
    'Calls on the wire and through MCP are one session: neither settles the calls of the other, in one gateway process or in two',
  'gateway.session.ends':
    'A host that ends its MCP session ends the session that the gateway opened for it, unless others use that one',
  'gateway.session.unknown':
    'A call that runs in one gateway counts as unknown once another takes a turn in its session: its late receipt opens nothing',
  'gateway.told':
    'A call that is taken out of an answer leaves why in the answer, beside the calls that stay, so that the next request tells the model',
  'gateway.hooks':
    'Hooks of Claude Code are judged over HTTP: a blocked call is denied with its remedy, and nothing is allowed that could not be judged',
  'gateway.hooks.one-reading':
    'A hook about a call is refused if another reader could take it for another call: a duplicate member, one in other letters or with invisible characters, an input that is no object; an outcome is taken whatever the tool returned',
  'gateway.hooks.no-outcome':
    'A call of Claude Code of which nothing is heard holds up others for 30 seconds at most, those of a later prompt not at all; PostToolBatch settles it at once, and one whose client has gone is not judged',
  'gateway.faults':
    'A gateway that is killed, and an upstream that hangs, breaks off or contradicts itself, double nothing and release nothing unjudged',
  'gateway.refuses-by-name': 'What cannot be governed is refused by name and never reaches the upstream',
  'gateway.passes': 'Models and token counts, errors, request ids and aborts pass between client and upstream',
  'gateway.keys-stay':
    "The client's own provider key reaches the upstream, and stands in no log, error, capture or table",
  'gateway.session.found':
    'A conversation is one session: by header, else by the call ids in its history, else a new one',
  'gateway.session.apart': 'A session is found within its tenant, agent and environment, and never across',
  'gateway.session.shared':
    'The same conversation through two gateway processes is one session, and neither takes it from the other',
  'gateway.principal-token':
    'A principal token in a header proves for whom the session of a request acts, reaches no upstream, and one for somebody else is refused',
  'gateway.retry': "A client's retry of a request is the same turn",
  'gateway.reported':
    'The outcome of a call is reported from the result in the next request, with the values that contracts read',
  'gateway.fails-closed': 'Nothing is let through while the service cannot be asked, and the refusal says so',
  'gateway.overtaken':
    'Where a turn through another gateway overtook a request of the same session, it is answered 409, which official clients retry',
  'gateway.outage-retried':
    'While the service is away the gateway answers 503 with Retry-After, which official clients retry: an outage of two seconds is no error to them, and the model is asked once',
  'gateway.stops':
    'A gateway that is told to stop answers what is in flight and ends; no host, no connection and no notification keeps it',
  'gateway.modes':
    'observe captures, shadow blocks nothing, enforce blocks; the plan is the one approved for agent and environment',
  'gateway.limits':
    'At most 256 requests with a body, and 64 MB of bodies, are in flight; one more gets 503 with Retry-After and x-should-retry, which official clients try again',
  'gateway.fair.values':
    'A body with more than 200,000 values, 20,000 different names or 64 levels is refused by name before it is parsed',
  'gateway.fair.connections': 'A gateway has at most so many connections; one more is answered with 503 and closed',
  'gateway.bad-input':
    'What could be read in two ways, is too large, too slow or not JSON gets a clear 4xx, and nothing runs',
} satisfies Facts
