import type { Facts } from './facts.js'

export const limits = {
  'limit.active-keys': 'A tenant has at most 5 active API keys',
  'limit.signup': 'Signup takes 5 requests an hour from one IP address',
  'limit.forgot-password': 'forgot-password acts on 3 requests an hour for one address',
  'limit.forgot-password.others': 'Whoever has asked for too many mails uses up nothing of what the accounts of others may get',
  'limit.resend-verification': 'Resending verification takes 3 requests an hour',
  'limit.post-general': 'On the quota free a tenant makes 30 POST requests a minute, whatever they are for, and whether programs or people send them',
  'limit.get-general': 'On the quota free a tenant makes 120 GET requests a minute, whatever they read, and whether programs or people send them',
  'limit.runs-budget': "Runs are counted against a monthly budget that depends on the tenant's quota",
  'limit.runs-failed': 'Fixtures that take more than the thread has count against the budget, and sent again they are refused at once',
  'limit.runs-also-post': 'Runs also count against the general POST limit',
  'limit.runs-no-daily-cap': 'Runs have no limit per day',
  'limit.stops-unlimited': 'No quota refuses what stops: kills of sessions and workflows, stopping an agent, labels, bypass reports, revoking a key',
  'limit.receipts-wait':
    'A receipt that a used-up quota refuses stays in the SDK and is sent again, also when the session ends, for as long as the quota takes to fill; not at the end of a session if that is more than a minute',
  'limit.token-bucket': 'Rates are limited by token buckets, which refill with time',
  'limit.label-length': 'Labels have 1 to 128 characters',
  'quota.default-carries-agents': 'On the quota of tenants that the operator makes, twenty agents at once finish their turns',
  'limit.max-retries': 'maxRetries lies between 0 and 5 and is 0 by default',
  'limit.max-unguarded-calls': 'maxUnguardedCalls is 3 by default',
  'limit.checkpoint-triggers': 'A session triggers at most 10 checkpoints',
  'limit.checkpoint-timeout': 'A checkpoint waits 30 seconds at least',
  'limit.observe-buffer': 'The observe buffer holds 100 items by default and 1000 at most',
  'limit.observe-flush': 'Observe flushes every 5000 ms by default',
  'limit.observe-timeout': 'Observe waits 5000 ms for the API by default and 10000 ms at most',
  'limit.observe-breaker.opens': 'Five failed capture requests in a row stop capturing',
  'limit.observe-breaker.closes': 'Capturing starts again 10 minutes after it was stopped',
  'limit.access-token': 'Access tokens live 15 minutes',
  'limit.refresh-token': 'Refresh tokens live 7 days',
  'limit.reset-token': 'Password reset tokens live 1 hour',
  'limit.verification-token': 'Verification tokens live 24 hours',
  'limit.refresh-retention': 'Dead refresh tokens are kept for 30 days',
  'limit.confidence': 'Confidence turns medium at 5 samples and high at 10',
  'limit.fair.begin': 'Requests begin in turn between those who send them, and so do the statements that let them in',
  'limit.fair.large-replies':
    'Replies of megabytes are read and written one at a time for a tenant, with a rest after very long ones, and six in all; sessions with states of megabytes, and what a workflow reads of them, one at a time for a tenant, and kills of them apart from all else',
  'limit.fair.reads':
    'A tenant reads on half of the connections that are kept for reading, and what others do waits for none of it; a session is read once the body of its request has come',
  'limit.fair.plans': 'Expensive work of one tenant leaves the turns and plans of another tenant alone',
  'limit.fair.same-plan': 'Costly calls of one tenant leave the decisions of another alone that has the same plan, and are forgotten after twenty cheap ones',
  'limit.fair.packs': 'The plans that people write are read, compared and tried beside the requests of others, who do not wait for it',
  'limit.fair.tried-plans':
    'A plan that a session brings is prepared in a thread first, beside the requests of others; one with a part that takes more than 250 ms of a processor is refused',
  'limit.fair.shared-connections':
    'Over a connection that a proxy shares between tenants, a request waits with those of its own tenant or network, not with those of whoever used the connection before',
  'limit.judging.colliding-numbers':
    'Numbers that collide in a set of numbers take no longer than others, wherever a plan, a response or its arguments bring them',
  'limit.fair.held-thread':
    'Whatever was counted, a tenant whose requests block the thread in steps of more than 100 ms is refused with 429 once they have taken more than half a second and a twentieth of the time since; stops and evidence are taken, and a decision that was begun is finished within five seconds',
  'limit.fair.large-bodies': 'A large body of one tenant is read beside the requests of others, who do not wait for it',
  'limit.fair.refused-bodies': 'A body that is wrong everywhere is refused for its first twenty faults, in small pieces',
  'limit.fair.cookies': 'A cookie is found in a header of 16 kB in less than a millisecond, whatever a stranger wrote into it',
  'limit.fair.forwarded':
    'Whose address a request comes from is found in a fifth of a millisecond, whatever a stranger wrote into X-Forwarded-For: no more of it is read than trusted proxies wrote',
  'limit.fair.kept-values':
    'What calls add to the state of a session is bounded, and takes time in proportion: each value takes steps of judging, and a session keeps 8,192 keys',
  'limit.fair.under-a-lock': 'A costly decision that is made under a lock leaves the thread to others after each of its pieces',
  'limit.fair.definitions':
    'The definition of a workflow is checked and hashed once, in turns with the work of other tenants and before anything is locked, in time that grows with its length',
  'limit.fair.roles-counted-first': 'Roles and handoffs of a workflow are counted before one of them is looked at',
  'limit.fair.values': 'A body that is parsed in one piece beside requests has at most 200,000 values; captures and runs, which are read in a thread, 500,000',
  'limit.fair.names': 'The members of a large body have at most 20,000 different names: parsing more of them takes long in one piece',
  'limit.fair.suggestions':
    'A definition with hundreds of long names that nothing declares is refused at once: of a name, few places are compared with another',
  'limit.fair.time': 'Of those who wait for a thread, who used it least comes next; who used little waits for no long work of others',
  'limit.fair.lists': 'Learned contracts are listed for one request of a tenant at a time, large ones for one in all; small ones wait for no list of others',
  'limit.fair.erasures': 'Nothing is locked while what was learned of a session is taken out of it: meanwhile the session can be killed',
  'limit.fair.threads': 'Where cores are scarce, long work beside requests waits for the thread that answers them',
  'limit.fair.refused': 'Expensive work beyond a share is refused before it is begun, with a time to try again',
  'limit.fair.refused-plan': 'A plan that was refused is not prepared again, and its cost counts as further requests',
  'limit.fair.signing': 'A tenant with more ledgers to sign than one round takes does not keep those of others unsigned',
  'limit.fair.learning-line':
    'A tenant with very many agents whose captures are not due yet does not keep those of others from being learned: one search looks at a thousand agents',
  'limit.fair.watched-rates':
    'However many plans are in force, each learned one is watched in its turn, also where one tenant has most of them or one cannot be measured',
  'limit.jobs.pieces':
    'Jobs for all tenants work in pieces of a bounded size, and a piece that fails takes no other with it: whatever one tenant leaves behind, they go on',
  'limit.jobs.offers':
    'An offer expires without the plan of its session, and one that lapses while those of another tenant are written waits about a second, not for all of them',
  'limit.jobs.found': 'However much one tenant has kept, jobs and requests find what they look for by an index',
  'limit.fair.mail-queue': 'However often somebody asks for a mail, the queue is looked through once more when the look under way has ended',
  'limit.fair.sign-in': 'A flood of sign-ins from one network does not shut sign-in for others',
  'limit.fair.known-browser': 'Wrong tries of strangers do not lock out a browser that has signed in before',
  'limit.bytes.per-day': 'A tenant sends a bounded number of bytes a day, and is told when it may go on',
  'limit.bytes.stop-and-evidence': 'A tenant without bytes left can still kill sessions and report what ran',
  'limit.pages.captures': 'A page of captures is bounded by bytes, and the pages after it bring the rest',
  'limit.pages.captures-of-tool': 'A page of the captures of one tool looks through 20,000 captures at most, and the next page goes on where it stopped',
  'limit.pages.sessions-of-facet':
    'A page of sessions with a label or reason and another filter looks through 10,000 of them at most, and the next page goes on where it stopped',
  'limit.plan-problems': 'Of a plan with many problems the first fifty are named and the others counted, in small pieces',
  'limit.entries-per-list':
    'Each list and table of a contract or session definition has at most 2,048 entries, which are prepared one by one with other work in between',
  'limit.terms-per-plan': 'The preconditions of a plan have at most 256 different terms: a session keeps what meets each of them',
  'limit.versions-per-tool': 'A plan has at most 16 contracts for versions of one tool: what the provider runs counts for each of them',
  'limit.labels-per-plan': 'The contracts of a plan add at most 128 different labels',
  'limit.plan-advisories': 'Of the advisories on a plan the first hundred of each kind are listed, and the others counted',
  'limit.pages.timeline': 'A page of a timeline is bounded by bytes, also where each event leaves a large state',
  'limit.pages.tool-pins': 'Of tools whose definition changed, the newest that fit into a megabyte are shown, and the next once these are decided',
  'limit.pages.runs': 'A page of runs is bounded by the bytes of their reports, and the pages after it bring the rest',
  'limit.pages.contracts': 'Contracts are listed up to 4 MB, and that there are more; those that people wrote are read up to 4 MB',
  'limit.held-resources': 'A proposal that needs a resource is refused while other sessions of the workflow hold more than 4,096',
  'limit.pages.shared-limits': 'Of limits that sessions share the first 256 are shown, and that there are more, however many windows a tenant gave them',
  'limit.workflow-bytes': 'A workflow whose handoffs and tools have 2 MB takes no more of them: all of it is shown at once',
  'limit.pages.agents': 'Overview and agents read the counts of the agents that they show, however many a tenant has',
  'limit.unanswered.counted': 'Of calls that nobody answered at most 10,000 are counted, and that there are more, for the overview and for each agent',
  'limit.unanswered.listed': 'A page of unanswered calls looks through 10,000 of them at most, and the next page goes on where it stopped',
  'limit.unanswered.dropped': 'A minute is counted without looking through the unanswered calls that are stored, whoever left them',
  'limit.memory.bytes': 'What a process remembers is bounded by bytes, whatever one entry weighs',
  'limit.memory.share': 'While others need a memory, one tenant keeps at most its share of it',
  'limit.memory.stranger': 'A caller without a key leaves nothing in memory',
  'limit.memory.open-bodies':
    'Where nobody needs a key or an account, a body has at most 16,384 bytes: strangers keep no tenant out of the memory for large ones',
  'limit.memory.bodies': 'Large request bodies wait for their turn, and a body has at most 500,000 values',
  'limit.connections.readers': 'A client that does not read its reply loses its connection; one that reads slowly gets all of it',
  'limit.connections.count': 'Connections are limited in all and per address, and one too many is told so',
  'limit.connections.networks': 'The addresses of one /64 of IPv6 count as one address, and IPv4 through an IPv6 socket as IPv4',
  'limit.connections.open-requests':
    'One client behind a proxy, and one tenant, has a quarter of the connections for its requests; kills of a tenant count apart',
  'limit.connections.displaced':
    'When all connections are taken, the network or client with most that wait for a head or a body loses the oldest of them to a newcomer',
  'limit.connections.endings':
    'Of bodies that end together before they came, sixteen are refused in a turn of the event loop, and nothing is written for clients that left',
  'limit.connections.pieces':
    'A body comes in at most 1,024 pieces and one more for every 64 bytes; what follows is skipped, and other requests are read whole',
  'limit.connections.pipelined': 'A connection has one request under way and two that wait; one more ends it, and what follows in the same piece is not read',
  'limit.connections.trailers': 'A chunked body is followed by at most 256 lines, and the connection ends with more',
  'limit.connections.heads':
    'A request without a host, or with an unknown expectation, is refused once: its connection ends, and what follows on it is not read',
  'limit.connections.header-lines': 'A request of more than 100 header lines is refused before anything is done for it, and its connection ends',
  'limit.query.length': 'A query of more than 8,192 characters is refused unread, and so is any query where a path has no parameters',
  'limit.path.names': 'The names in a path are compared as they were sent: only parameters are decoded, and `..` is a name like any other',
  'environment.disable': 'COUNTERSIGN_DISABLE set to true, 1, yes or on turns capture off',
  'environment.api-key': 'COUNTERSIGN_API_KEY supplies the API key',
  'environment.api-url': 'COUNTERSIGN_API_URL supplies the address of the API',
  'environment.api-url.default': "Without COUNTERSIGN_API_URL the service's base address is used",
  'limit.plan-review':
    'Comparing and analysing plans takes time in proportion to their size; beyond a counted number of steps, a rule that is not equal is called a change',
  'limit.plan-warnings':
    'Warning about rules that are odd together, and finding the lines of what is warned about, takes time in proportion to the size of a plan',
  'limit.judging.steps': 'Judging a proposal takes a counted number of steps at most; a call beyond them is blocked',
  'limit.judging.every-face': 'What takes too many steps is blocked alike by server, local mode, validate, backtest and playground',
  'limit.judging.other-tenants': "While one tenant's costly proposal is judged, another tenant's kill is answered",
  'isolation.policy-trap': "A policy that breaks Cedar is an error; other tenants' policies still decide",
  'limit.regex-properties':
    'A regular expression has at most 100 Unicode properties such as \\p{L}, and 10 ranges beyond ASCII that ignore case; each counts in what its plan may cost',
  'limit.regex-size':
    'What a regular expression compiles to is estimated before it is compiled: it has at most 2,500 instructions, and a million ranges of characters over all of them',
  'limit.schema-uris':
    'The URIs and references of a JSON Schema have at most 512 characters each, as they are resolved, and resolving them takes time in proportion',
  'limit.policy-size':
    'A Cedar policy has at most 4,000 words, values and signs; what they are, how they are spaced and what is wrong in its strings hardly matters for how long it is read',
  'limit.policy-memory': 'What Cedar keeps of policies is bounded by bytes, whosever they are; the policies of a plan count in what it may cost',
  'limit.own-buckets': 'On larger quotas proposals, captures, evidence and the dashboard each have a bucket of their own',
  'limit.default-quota': 'A new account has the quota free, and a tenant that the operator makes the quota team',
} satisfies Facts
