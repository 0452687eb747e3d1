import type { SideEffect } from '@countersign/protocol'
import { toolWords } from '../flows/argument-words.js'

export interface GuessedEffect {
  readonly effect: SideEffect
  /** False if no word of the name says what the tool does. */
  readonly isKnown: boolean
}

/** Guesses the side effect from the tool's name. A person can correct it: it decides how strict the rules are. */
export function guessSideEffect(tool: string): GuessedEffect {
  const [first = [], ...others] = clauses(toolWords(tool))
  const begins = effectOf(first)
  // `find_and_delete` does two things, and `get_name_and_address` one.
  const second = others.map((clause) => deedOf(clause[0] ?? '')).find((effect) => effect !== null) ?? null
  const effect = STRICT.some((one) => one.effect === begins) ? begins : (second ?? begins)
  return { effect: effect ?? 'write', isKnown: effect !== null }
}

/** In the contract of a tool whose name does not say what it does, until a person has said it. */
export const ASK_UNTIL_SET = { reason: 'what this tool does is not set yet' } as const

type Words = ReadonlySet<string>
const words = (text: string): Words => new Set(text.trim().split(/\s+/))

/** A name that begins so reads, whatever it reads. */
const READING = words(
  'get list read search find fetch query lookup look show view describe count check calculate think current',
)
const OUTSIDE = words('web webpage url http website browse page internet')

/** A name with one of these words in any place has the effect: a deed as it is written, a thing also in the plural. */
const STRICT: readonly { readonly effect: SideEffect; readonly deeds: Words; readonly things: Words }[] = [
  {
    effect: 'destructive',
    deeds: words(`
      delete remove cancel drop purge destroy revoke terminate wipe erase truncate discard trash void overwrite clear prune
      unlink rm del shred kill deactivate unsubscribe unregister uninstall
    `),
    things: words('deletion removal termination'),
  },
  {
    effect: 'financial',
    deeds: words(`
      pay repay prepay refund reimburse transfer charge purchase buy sell trade withdraw deposit disburse donate settle remit
      wire checkout redeem
    `),
    things: words(`
      payment payout refund reimbursement transfer charge chargeback purchase money fund cash credit debit transaction invoice
      bill billing settlement remittance withdrawal deposit disbursement donation tip topup subscription price discount coupon
      voucher balance wallet loan payroll salary bonus compensation fee
    `),
  },
  {
    effect: 'admin',
    deeds: words(`
      deploy undeploy rollback grant permit authorize rotate reset restart reboot shutdown shut stop suspend close lock unlock
      ban unban enable disable impersonate elevate execute exec run eval provision deprovision scale install upgrade migrate
      configure
    `),
    things: words(`
      deployment production permission privilege access role acl admin administrator root sudo user account member owner key
      secret credential password passphrase token certificate mfa otp shell bash powershell terminal command cmd execution sql
      ddl migration config configuration setting firewall dns server vm cluster container instance database db schema iam
      policy webhook security group env environment
    `),
  },
]

/** An order is a thing that is paid where it is placed, and one that is described elsewhere. */
const ORDERING = words('place submit create confirm')

/** Changes what can be changed back, or works something out. */
const WRITING = words(`
  create add update edit modify change set put insert append replace write save store upload download export send reply
  forward rename move copy assign attach annotate summarize translate format convert parse extract validate verify compare
  generate render preview
`)
/** Things as well, unless a name begins so. */
const WRITING_FIRST = words('post comment note log record message mail email tag label mark draft schedule')

/** The words between `and`, `or` and `then`. */
function clauses(all: readonly string[]): string[][] {
  const found: string[][] = [[]]
  for (const word of all) {
    if (word === 'and' || word === 'or' || word === 'then') found.push([])
    else found.at(-1)?.push(word)
  }
  return found.filter((clause) => clause.length > 0)
}

/** Null if no word says it. */
function effectOf(clause: readonly string[]): SideEffect | null {
  const [first = '', next = ''] = clause
  if (READING.has(first) && !(first === 'check' && next === 'out')) {
    return clause.some((word) => OUTSIDE.has(word)) ? 'egress_read' : 'read'
  }
  if (first === 'order' || first === 'check' || (ORDERING.has(first) && singular(next) === 'order')) return 'financial'
  if (TALKING.has(first) || (first === 'run' && TRIED.has(singular(next)))) return 'write'
  const strict = STRICT.find(({ deeds, things }) =>
    clause.some((word) => deeds.has(word) || things.has(word) || things.has(singular(word))),
  )
  if (strict !== undefined) return strict.effect
  return WRITING_FIRST.has(first) || clause.some((word) => WRITING.has(word)) ? 'write' : null
}

/** Says something to a person, whatever it is about. */
const TALKING = words('notify ask reply answer tell inform remind greet')
/** What is run to see whether something works. */
const TRIED = words('test check lint linter benchmark')

const deedOf = (word: string): SideEffect | null =>
  STRICT.find(({ deeds }) => deeds.has(word))?.effect ?? (WRITING.has(word) ? 'write' : null)

const singular = (word: string): string => (word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word)
