import type { Facts } from './facts.js'

export const whatPeopleSee = {
  'people.plan-diff.by-meaning':
    'A comparison of plans says blocks where the new rule lets less through, and allows where it lets more through, whatever its lines look like',
  'people.plan-diff.first-plan': 'The first plan of an agent is never said to allow more: nothing was blocked before it',
  'people.plan-diff.proof': 'A plan that begins or ceases to want a proven principal says so, and who asks for it',
  'people.plan-diff.before': 'An approved plan shows what it changed, compared with the plan that it replaced',
  'people.counts.backtest': 'A backtest says how many sessions would change, and where its list is shorter it says so',
  'people.counts.totals': 'Totals count all sessions and agents, also those beyond the end of a list',
  'people.numbers.calls': 'The list of calls has exactly as many rows as the overview says, by decision, reason and agent',
  'people.activity': 'A session is running, idle or ended, and each list and number of sessions goes by that',
  'people.unanswered.counted': 'Calls that were allowed and never got a receipt are a number of the overview, with the age of the oldest',
  'people.unanswered.listed': 'Each unanswered call is in a list, and its session and agent say how many they have',
  'people.unanswered.still-runs': 'A call whose session has a live holder is not called unanswered',
  'people.acts.label-once': 'A label by a person and its audit entry are written together, once',
  'people.acts.draft-edits': 'Edits of a draft and backtests are in the audit trail',
  'people.review.evidence':
    'An approval is recorded with the newest finished backtest of its contracts over sessions of its agent, which the service finds by itself; without one it says so, and whether one is under way',
  'people.review.changed-calls': 'A backtest counts, by tool, the calls that were blocked and would run, and those that ran and would be blocked',
  'people.review.effect-first':
    'A review says first which calls would newly run, which would newly be blocked and which rules could not be tried, in red where money or administration gets looser, by the stricter side effect of the plan and the one that it replaces',
  'people.acts.approver-hashed': 'Who approved a checkpoint and why are hashed in the ledger, and what was changed since is not shown',
  'people.acts.breaker': 'A session that its circuit breaker killed is in the audit trail, by the system',
  'people.acts.shown': 'A session shows who approved a checkpoint, and who killed it and why',
  'people.search.complete': 'A search by the beginning of an id, or by an agent, finds every session, however many there are',
  'people.shared-limits': 'A page shows what is used of each limit over all sessions, the keys that use most first, and finds a key by its value',
  'people.kept-keys': 'A session shows for how many keys its rules are kept, and which of its labels stick to the principal',
  'people.plot.dates': 'A plot over days says which day, and one within a day the time',
  'people.edits.survive': 'Edits of a draft that are not saved outlast navigation and a reload',
  'people.edits.merge': 'Edits of two people can be brought together, file by file, and then saved',
  'people.edits.none-lost': 'Of two edits of one version of a draft the second is refused, also where they differ in comments only',
  'people.editor.adds-file': 'The editor of a draft adds a contract for a tool that has none',
  'people.list.sorted-as-headed': 'Sessions are sorted and filtered by the start that the heading names, in both directions',
  'people.layout.fits': 'Filters, tables of failures and graphs fit the window of a desktop and of a phone',
  'people.account-notes':
    'Until its address is verified an account is told so on every page, asked for another mail without a promise, and told what the quota free means',
  'people.live-is-true': 'A page that cannot be up to date does not say that it is live',
  'people.agents.agree': 'What an agent shows agrees with its sessions: blocked, killed and compromised ones are no health',
  'people.agents.unnamed': 'Sessions that name no agent are those of the agent default, on every page',
  'people.agents.last-seen':
    'An agent was last seen at the last event of its sessions or its newest capture, not when something was learned from it or done to it; the order of agents and what is inactive go by that',
  'people.agents.same-window': 'The overview and the page of agents count the same 30 days',
  'people.agents.learning': 'While captures of an agent wait to be learned from, its page says how many',
  'people.covered.one-meaning':
    'The share of covered calls is the same on every page: of all calls that were proposed, decided or only captured, those that were under a contract in force',
  'people.contracts.learned-from':
    'A learned contract says from how many of its captured calls it was learned, and in how many conversations, about, where they are many',
  'people.state.now': 'A session shows its state now until an event is chosen, and says after which event a state was',
  'people.workflows.killed-handoffs': 'A killed workflow has no open handoffs',
  'people.pins.readable': 'A tool whose definition has changed shows both definitions whole, without scrolling sideways, and marks what differs',
  'people.acts.lead-on': 'An entry of the audit trail about a session, a workflow or a plan, also about its backtest, leads to it',
  'people.frame-stays': 'A page that cannot be loaded leaves the frame around it, and money and data are shown in words',
  'people.fixtures.recorded': 'The page tests show replies that were recorded from the service, and a reply of another shape fails',
  'people.pages.by-role':
    'Pages show only what the role allows: links, buttons and, where a person would look for one, who can do it; a role that is changed meanwhile is said, and what it no longer allows goes',
  'people.pages.members':
    'On the page of members an owner invites by mail, changes roles and groups, disables and removes, and is told why the last owner stays',
  'people.pages.join': 'The link of an invitation shows who invites whom as what, takes a password and leads in; one that is no longer valid says so',
  'people.pages.account': 'The page of an account changes its name and password, and lists where it is signed in and ends that',
  'people.pages.ways-in': 'The page to sign in offers the ways that the server has: passwords, providers, and new accounts only where they are open',
  'people.pages.key-scope': 'The page of keys limits a new key by access, agent, environment and time, and says of each key what it is limited to',
  'people.questions.inbox':
    'The inbox lists what waits for the reader before what waits for others; the navigation, the title of every page and the overview say how much waits',
  'people.questions.whole-call':
    'The page of a question shows every argument whole and as text, however long and whatever is in it, beside the rule that asks and the last call that was allowed',
  'people.questions.hidden-characters':
    'Characters that are drawn as nothing, or that turn text round, are named in their place, and so are spaces other than the usual one',
  'people.questions.changes': 'Between a call and another every value that differs, is new or is missing is shown',
  'people.questions.only-deny': 'A call that cannot be shown to a person can only be denied; one that does not fit its line is approved on its own page',
  'people.questions.read-again':
    'An answer names the card that was read: a question that changes while its page is open is read again before it can be answered',
  'people.questions.too-late': 'An answer that comes too late changes nothing, and its page says who decided and when',
  'people.questions.take-back': 'A member who may answer can deny an approved call until it has run',
  'people.questions.edited': 'A call is approved with changes that its rule allows, and the page says what is changed before and after',
  'people.questions.by-role': 'A viewer reads questions and has no button; a member who is not asked reads why',
  'people.questions.looking-decides-nothing': 'Opening a page of a question, whatever its address says, sends no answer',
  'people.questions.batch':
    'Several questions of a rule are answered on one page, each by a choice of its own that begins with later, and one answer that fails leaves the others',
  'people.questions.sums': 'The numbers of several questions are added up, one currency apart from another',
  'people.questions.journey':
    'What an agent asks is answered in the browser: an approved call runs once when it is proposed again, a denied one stays blocked and the model reads the note',
  'people.questions.statistics': 'A page says of each rule and person how often is asked and approved, and which rule asks more than it helps',
  'people.webhooks':
    'An owner adds a webhook and sees its secret once, sends a test, reads what was answered to messages, rolls the secret, disables and removes it; others do not see the page',
  'people.audit.filtered': 'The page of the audit trail is filtered by who, what and when, and says how people were signed in',
  'people.audit.csv': 'The audit trail is downloaded as a CSV file of everything that the filter lets through',
  'people.audit.no-formulas': 'No cell of that file is run as a formula by a spreadsheet',
  'people.numbers.lead-to-lists': 'Every number of a page leads to a list of exactly as many rows, in the same time range',
} satisfies Facts
