import type { LedgerBody, LedgerCall, LedgerQuestion, SessionEvent } from '@countersign/protocol'

/** What the ledger has said of a question so far. */
interface Told {
  readonly tool: string
  readonly askedHash: string | null
  readonly rules: readonly string[]
  cardNo: number
  cardHash: string
  needed: number
  /** While it waits, its expiry; once approved, until when it may be used. */
  until: string
  state: 'waiting' | 'approved' | 'used' | 'denied' | 'ended'
  editedHash: string | undefined
  readonly yes: Set<string>
}

export interface QuestionCheck {
  /** What is wrong with the next event of the session, or null. */
  add(event: SessionEvent): string | null
}

/**
 * Checks, event by event and apart from the fold, that no call ran on an answer that was not there: every answer used was
 * asked for, has enough different members on its last card, in time, no denial, and is used once, for the call that was
 * asked about or the one that a person made of it.
 */
export function checkQuestions(): QuestionCheck {
  const told = new Map<string, Told>()
  let isStopped = false
  return {
    add(event) {
      switch (event.type) {
        case 'proposal':
          return firstOf(event.body.calls, (call) =>
            call.question === undefined ? null : ofCall(told, call, call.question, { at: event.at, isStopped }),
          )
        case 'answered':
          return ofAnswer(told.get(event.body.question_id), event.body, { at: event.at, isStopped })
        case 'question_changed':
          return ofNewCard(told.get(event.body.question_id), event.body)
        case 'question_ended':
          return ofEnd(told.get(event.body.question_id), event.body, event.at)
        case 'killed':
        case 'bypass':
          isStopped = true
          return null
        default:
          return null
      }
    },
  }
}

interface Moment {
  readonly at: string
  readonly isStopped: boolean
}

function firstOf<Item>(items: readonly Item[], check: (item: Item) => string | null): string | null {
  for (const item of items) {
    const problem = check(item)
    if (problem !== null) return problem
  }
  return null
}

const isLater = (at: string, until: string): boolean => Date.parse(at) > Date.parse(until)

function ofCall(told: Map<string, Told>, call: LedgerCall, question: LedgerQuestion, moment: Moment): string | null {
  const { question_id: id } = question
  const known = told.get(id)
  if (question.step !== 'used' && (call.decision !== 'block' || call.pending_call_id !== null))
    return `a call was registered that waits for question ${id}`
  if (question.step === 'waiting')
    return known === undefined ? `a call waits for question ${id}, which was never asked` : null
  if (question.step === 'used') return ofUse(known, call, question, moment)
  if (known !== undefined) return `question ${id} was asked twice`
  told.set(id, {
    tool: call.tool_name,
    askedHash: call.argument_hash,
    rules: question.rules,
    cardNo: question.card_no,
    cardHash: question.card_hash,
    needed: question.needed,
    until: question.expires_at,
    state: 'waiting',
    editedHash: undefined,
    yes: new Set(),
  })
  return null
}

function ofUse(
  known: Told | undefined,
  call: LedgerCall,
  question: Extract<LedgerQuestion, { step: 'used' }>,
  { at, isStopped }: Moment,
): string | null {
  const { question_id: id } = question
  const fail = (why: string) => `a call was allowed by question ${id}, ${why}`
  if (known === undefined) return fail('which was never asked')
  if (known.state === 'used') return fail('whose answer was used before')
  if (known.state !== 'approved' || known.yes.size < known.needed) return fail('which was not approved')
  if (isStopped) return fail('in a session that was stopped')
  if (isLater(at, known.until)) return fail('after its time')
  if (question.card_hash !== known.cardHash) return fail('by an answer to another card')
  if (call.tool_name !== known.tool || question.asked_hash !== known.askedHash)
    return fail('which was about another call')
  const other = question.rules.find((rule) => !known.rules.includes(rule))
  if (other !== undefined) return fail(`which was not about ${other}`)
  if (call.argument_hash !== (known.editedHash ?? known.askedHash)) return fail('with other arguments')
  if (call.pending_call_id === null) return fail('and was not registered')
  known.state = 'used'
  return null
}

function ofAnswer(known: Told | undefined, body: LedgerBody<'answered'>, { at, isStopped }: Moment): string | null {
  const { question_id: id } = body
  const fail = (why: string) => `an answer to question ${id} ${why}`
  if (known === undefined) return fail('comes before the question')
  if (isStopped) return fail('comes after the session was stopped')
  if (known.state !== 'waiting' && !(known.state === 'approved' && body.decision === 'deny'))
    return fail('comes after its end')
  if (isLater(at, known.until)) return fail('comes after its time')
  if (body.card_hash !== known.cardHash || body.card_no !== known.cardNo) return fail('is to another card')
  if (body.decision === 'approve') {
    if (known.yes.has(body.member_hash)) return fail('repeats the yes of the same member')
    if (body.edited_hash !== undefined && known.needed > 1)
      return fail('changes a call about which several people decide')
    known.yes.add(body.member_hash)
    known.editedHash = body.edited_hash ?? known.editedHash
  }
  const state = body.decision === 'deny' ? 'denied' : known.yes.size < known.needed ? 'waiting' : 'approved'
  if (body.state !== state || body.have !== known.yes.size) return fail('counts the answers wrongly')
  known.state = state
  known.until = state === 'approved' ? (body.usable_until ?? known.until) : known.until
  return null
}

function ofNewCard(known: Told | undefined, body: LedgerBody<'question_changed'>): string | null {
  const isLive = known?.state === 'waiting' || known?.state === 'approved'
  if (known === undefined || !isLive || body.card_no !== known.cardNo + 1)
    return `question ${body.question_id} was put again though it does not wait`
  known.cardNo = body.card_no
  known.cardHash = body.card_hash
  known.needed = body.needed
  known.until = body.expires_at
  known.state = 'waiting'
  known.editedHash = undefined
  known.yes.clear()
  return null
}

function ofEnd(known: Told | undefined, body: LedgerBody<'question_ended'>, at: string): string | null {
  if (known === undefined) return `question ${body.question_id} ended and was never asked`
  if (body.state === 'expired' && !isLater(at, known.until))
    return `question ${body.question_id} expired before its time`
  if (known.state === 'waiting' || known.state === 'approved') known.state = 'ended'
  return null
}
