import {
  type CaptureLevel,
  type Environment,
  LIMITS,
  type ProviderConstraints,
  type UnmatchedPolicy,
} from '@countersign/protocol'
import { DEFAULT_BASE_URL } from './environment.js'
import type { ObserveOptions } from './observe-options.js'
import {
  address,
  anyText,
  callback,
  choice,
  constraints,
  contractObjects,
  executors,
  flag,
  id,
  key,
  labelList,
  type OptionKind,
  objectLike,
  orNull,
  path,
  principal,
  store,
  text,
  token,
  wholeNumber,
  workflowDefinition,
} from './option-kinds.js'
import type {
  CompatEnforcement,
  Mode,
  NarrowingFeedback,
  ProtectionLevel,
  ReplayOptions,
  SessionGate,
} from './replay-options.js'
import type { WorkflowOptions } from './workflow-options.js'

/** One option: what it takes, what is used without it, and what it does. */
export interface OptionRow<Value = unknown> {
  readonly kind: OptionKind
  /** The value used if the option is not given. */
  readonly default?: Value
  /** The default in words, if it is not a fixed value. */
  readonly defaultsTo?: string
  readonly required?: true
  /** What the option is called elsewhere, if those names are spelled too differently to be recognized. */
  readonly alsoCalled?: RegExp
  /** For the editor and the reference page. `npm run docs` copies it into the interface. */
  readonly doc: string
}

/** An option without a row does not compile. */
type Rows<Options> = { readonly [Name in keyof Options]-?: OptionRow<NonNullable<Options[Name]>> }

interface OptionTable {
  readonly replay: Rows<ReplayOptions>
  readonly observe: Rows<ObserveOptions>
  readonly workflow: Rows<WorkflowOptions>
}

const ADDRESS_NAMES = /^(api|base|runtime|server|service)?_?(url|endpoint|host)$/i

const captureLevel = choice<CaptureLevel>({
  metadata: 'tool names',
  redacted: 'tool names and arguments',
  full: 'everything, including messages and results',
})

/** Node turns longer delays into one millisecond. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** Every option of `replay`, `workflow` and `observe`. Checks, defaults and documentation come from here. */
export const OPTIONS = {
  replay: {
    contracts: {
      kind: contractObjects,
      doc: 'Contracts as objects, or the result of `prepareContracts`. For files, use `contractsDir`.',
    },
    contractsDir: { kind: path, doc: 'Folder of the contract files, or a pack with a `contracts` folder.' },
    sessionYamlPath: {
      kind: path,
      defaultsTo: 'found beside the contracts',
      doc: 'Path of `session.yaml`.',
    },
    agent: { kind: text, defaultsTo: 'the agent of `session.yaml`', doc: 'Name of the agent.' },
    sessionId: { kind: id, defaultsTo: 'generated', doc: 'Id of the session. An existing session is recovered.' },
    mode: {
      kind: choice<Mode>({
        enforce: 'block calls that break a rule',
        shadow: 'block nothing, but record what would be blocked',
        'log-only': 'only capture calls',
      }),
      default: 'enforce',
      doc: 'How far the session intervenes.',
    },
    gate: {
      kind: choice<SessionGate>({
        reject_all: 'throw `ReplayContractError`',
        strip_partial: 'remove the blocked calls; throw if no call is left',
        strip_blocked: 'remove the blocked calls; return a text response if no call is left',
        answer:
          'leave blocked calls of wrapped tools in the response; running one returns its remedy. Others are removed, as by `strip_blocked`',
      }),
      default: 'reject_all',
      doc: 'What to do with a response that contains a blocked call. `openSession` uses `answer` by default.',
    },
    onError: {
      kind: choice<'block' | 'allow'>({
        block: 'block it',
        allow:
          'decide it locally by the same rules, from the last known state or, if there is none, from empty budgets',
      }),
      default: 'block',
      doc: 'What to do with a call while the server cannot be reached.',
    },
    unmatchedPolicy: {
      kind: choice<UnmatchedPolicy>({ block: 'block it', allow: 'allow it' }),
      default: 'block',
      doc: 'What to do with a call of a tool that has no contract.',
    },
    compatEnforcement: {
      kind: choice<CompatEnforcement>({
        protective: 'block calls',
        advisory: 'block nothing, but report to `diagnostics` what would be blocked',
      }),
      default: 'protective',
      doc: 'How far a session without a server intervenes.',
    },
    requireProtection: {
      kind: choice<ProtectionLevel>({
        monitor: 'any level will do',
        protect: 'calls must be blocked, in this process at least',
        govern: 'the server must decide',
      }),
      default: 'monitor',
      doc: 'The level below which the session refuses to start; with a plan that is looked up, to make calls.',
    },
    maxRetries: {
      kind: wholeNumber(0, LIMITS.maxRetries),
      default: LIMITS.maxRetriesDefault,
      doc: 'How many times the model may try again after a block. It is told the remedy.',
    },
    maxUnguardedCalls: {
      kind: wholeNumber(0, 1_000_000),
      default: LIMITS.maxUnguardedCallsDefault,
      doc: "How many calls `onError: 'allow'` lets through without the server. One more kills the session.",
    },
    narrowingFeedback: {
      kind: choice<NarrowingFeedback>({
        silent: 'no',
        metadata:
          'no, and the program reads it with `getState()` and `getLastNarrowing()` alone: `onNarrow` is not called',
        inject: 'yes, in a system message with the tools and the reasons',
      }),
      default: 'silent',
      doc: 'Whether the model is told which tools were removed.',
    },
    providerConstraints: {
      kind: orNull(constraints),
      default: {} as ProviderConstraints,
      doc: 'Patterns of provider/model: `block_incompatible` refuses a match, `warn_incompatible` reports it. One that misspells a provider is refused.',
    },
    principal: { kind: orNull(principal), doc: 'Who the agent acts for, as policies see it.' },
    principalToken: {
      kind: token,
      doc: 'In place of `principal`: a JWT of an issuer that is listed for the tenant, or a function that fetches one. It proves to the server who the agent acts for, and opens one session; a function is called whenever the session is opened.',
    },
    tools: {
      kind: executors,
      doc: "The program's tools by name; `session.tools` wraps them. Required for the server to govern the session.",
    },
    apiKey: {
      kind: key,
      defaultsTo: '`COUNTERSIGN_API_KEY`',
      doc: 'API key of the tenant. With `tools`, the server governs the session.',
    },
    runtimeUrl: {
      kind: orNull(address),
      defaultsTo: `\`COUNTERSIGN_API_URL\`, else ${DEFAULT_BASE_URL}`,
      alsoCalled: ADDRESS_NAMES,
      doc: 'URL of the server.',
    },
    environment: {
      kind: orNull(
        choice<Environment>({
          development: 'in shadow mode',
          staging: "enforced, with `compatEnforcement: 'advisory'`; calls pass if there is no plan or no service",
          production: 'enforced; calls are blocked if there is no usable plan',
        }),
      ),
      defaultsTo: '`COUNTERSIGN_ENVIRONMENT`, else `NODE_ENV`, else `production`',
      doc: 'The environment whose approved plan is used if no contracts are given, and how it is used.',
    },
    captureLevel: { kind: captureLevel, default: 'redacted', doc: 'What is captured and stored.' },
    store: {
      kind: store,
      defaultsTo: 'memory',
      doc: 'Stores the state of a session without a server, and its captures.',
    },
    onBlock: { kind: callback, doc: 'Called with every decision that blocks a call.' },
    onNarrow: { kind: callback, doc: 'Called when tools were removed from a request.' },
    diagnostics: { kind: callback, defaultsTo: 'warnings on the console', doc: 'Called with diagnostic events.' },
    labels: { kind: orNull(labelList), doc: 'Labels of the session from its start.' },
    onCheckpoint: {
      kind: callback,
      doc: 'Asks a person to approve a call, or `askPeople()`, which asks the members of the tenant. Required if a contract has a checkpoint without `ask`.',
    },
    workflow: { kind: objectLike('{ workflowId, role }'), doc: 'The workflow and the role of the session in it.' },
    onInDoubt: {
      kind: callback,
      defaultsTo: '`unknown`',
      doc: 'Returns the outcome of a call that was still running when an earlier holder of the session was lost.',
    },
    takeover: {
      kind: flag,
      default: false,
      doc: 'Take the session over even if its holder may still be running.',
    },
    timeoutMs: {
      kind: wholeNumber(1, 120_000),
      default: 10_000,
      doc: 'Time limit for one exchange with the server, retries included.',
    },
    fetch: { kind: callback, defaultsTo: "Node's HTTP client", doc: 'Sends the requests to the server.' },
  },
  observe: {
    apiKey: {
      kind: key,
      defaultsTo: '`COUNTERSIGN_API_KEY`',
      doc: 'API key of the tenant. Without one, nothing is observed.',
    },
    agent: { kind: orNull(anyText), default: 'default', doc: 'Name of the agent.' },
    captureLevel: { kind: captureLevel, default: 'redacted', doc: 'What is captured.' },
    endpoint: {
      kind: address,
      defaultsTo: `\`COUNTERSIGN_API_URL\`, else ${DEFAULT_BASE_URL}`,
      alsoCalled: ADDRESS_NAMES,
      doc: 'URL of the server.',
    },
    maxBuffer: {
      kind: wholeNumber(1, LIMITS.observeBufferMax),
      default: LIMITS.observeBufferDefault,
      doc: 'How many captures may wait to be sent.',
    },
    flushMs: {
      kind: wholeNumber(1, LONGEST_TIMER_MS),
      default: LIMITS.observeFlushMsDefault,
      doc: 'Time between two batches of captures.',
    },
    timeoutMs: {
      kind: wholeNumber(1, LIMITS.observeTimeoutMsMax),
      default: LIMITS.observeTimeoutMsDefault,
      doc: 'Time limit for sending a batch.',
    },
    disabled: { kind: flag, default: false, doc: 'Observe nothing. `COUNTERSIGN_DISABLE` does the same.' },
    diagnostics: { kind: callback, defaultsTo: 'warnings on the console', doc: 'Called with diagnostic events.' },
    fetch: { kind: callback, defaultsTo: "Node's HTTP client", doc: 'Sends the captures.' },
  },
  workflow: {
    workflowId: { kind: id, required: true, doc: 'Id of the workflow.' },
    role: { kind: text, required: true, doc: 'Role of the session in the workflow.' },
    handoffId: { kind: id, doc: 'The handoff that the session accepts by joining. A root role needs none.' },
    definition: {
      kind: workflowDefinition,
      doc: 'The definition of the workflow, or the path of its `workflow.yaml`. Given by the session that opens it.',
    },
  },
} as const satisfies OptionTable
