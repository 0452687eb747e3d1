import type { RE2JS } from 're2js'

/**
 * Searches text for a compiled pattern with an automaton whose states are made as the text needs them. The library's
 * own search keeps up to 8 MB of states for each pattern, and looks for literal patterns in quadratic time.
 */
export function lazyDfa(pattern: RE2JS): (text: string) => boolean {
  const automaton = new Automaton(pattern)
  return (text) => automaton.finds(text)
}

/** What one search may hold of states before they are dropped, and what is kept for the next one, in bytes. */
const MOST_STATES = 256 * 1024
const KEPT_STATES = 16 * 1024

interface Instruction {
  readonly op: number
  readonly out: number
  readonly arg: number
  matchRune(rune: number): boolean
}

/** The instructions of RE2JS, and what an assertion such as `^` or `\b` requires. */
const OP = { alt: 1, altMatch: 2, capture: 3, empty: 4, match: 6, nop: 7, firstRune: 8, lastRune: 11 } as const
const AT = { beginLine: 1, endLine: 2, beginText: 4, endText: 8, wordBoundary: 16, noWordBoundary: 32 } as const

const END_OF_TEXT = -1
const NEW_LINE = 10
const LATIN_1 = 256

interface State {
  /** The instructions that it stands at, sorted. */
  readonly threads: readonly number[]
  /** The assertions that hold here, those that some thread asks about, and whether a word character came last. */
  readonly holds: number
  readonly asks: number
  readonly afterWord: boolean
  readonly matched: boolean
  readonly bytes: number
  /** By class of character. */
  readonly next: (State | undefined)[]
}

class Automaton {
  private readonly program: readonly Instruction[]
  private readonly first: number
  private readonly bounds: Int32Array
  private readonly latin1: Int32Array
  private readonly endClass: number
  private readonly marks: Int32Array
  private mark = 0
  private states = new Map<string, State>()
  private start: State | null = null
  private bytes = 0

  constructor(pattern: RE2JS) {
    const { prog, dfa } = pattern.re2() as unknown as {
      prog: { start: number; numInst(): number; getInst(at: number): Instruction }
      dfa: { classBounds: Int32Array; latin1Class: Int32Array }
    }
    this.program = Array.from({ length: prog.numInst() }, (_, at) => prog.getInst(at))
    this.first = prog.start
    this.bounds = dfa.classBounds
    this.latin1 = dfa.latin1Class
    this.endClass = this.bounds.length + 1
    this.marks = new Int32Array(this.program.length)
  }

  finds(text: string): boolean {
    if (this.bytes > KEPT_STATES) this.drop()
    this.start ??= this.stateOf([this.first], AT.beginText | AT.beginLine, false, false)
    let state = this.start
    for (let at = 0; at <= text.length; at++) {
      let rune = at === text.length ? END_OF_TEXT : text.charCodeAt(at)
      if (rune >= 0xd800 && rune < 0xdc00) {
        rune = text.codePointAt(at) ?? rune
        if (rune > 0xffff) at++
      }
      let kind = this.endClass
      if (rune >= LATIN_1) kind = this.classOf(rune)
      else if (rune >= 0) kind = this.latin1[rune] as number
      state = state.next[kind] ?? this.enter(state, kind, rune)
      if (state.matched) return true
    }
    return false
  }

  /** A transition that is not known yet. */
  private enter(state: State, kind: number, rune: number): State {
    const next = this.transition(state, rune)
    state.next[kind] = next
    if (this.bytes <= MOST_STATES) return next
    this.drop()
    return this.stateOf(next.threads, next.holds, next.afterWord, next.matched)
  }

  private drop(): void {
    this.states = new Map()
    this.start = null
    this.bytes = 0
  }

  /** Characters outside of Latin 1 are classified by a search. */
  private classOf(rune: number): number {
    let low = 0
    let high = this.bounds.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.bounds[middle] as number) <= rune) low = middle + 1
      else high = middle
    }
    return low
  }

  private transition(state: State, rune: number): State {
    const isWord = isWordCharacter(rune)
    let holds = state.holds | (isWord === state.afterWord ? AT.noWordBoundary : AT.wordBoundary)
    if (rune === NEW_LINE) holds |= AT.endLine
    if (rune === END_OF_TEXT) holds |= AT.endLine | AT.endText
    const isAnswered = (holds & ~state.holds & state.asks) !== 0
    const threads = isAnswered ? this.closure(state.threads, holds).threads : state.threads
    const out: number[] = []
    let matched = false
    for (const at of threads) {
      const instruction = this.program[at] as Instruction
      const { op } = instruction
      if (op === OP.match) matched = true
      else if (rune >= 0 && op >= OP.firstRune && op <= OP.lastRune && instruction.matchRune(rune))
        out.push(instruction.out)
    }
    if (rune >= 0) out.push(this.first)
    return this.stateOf(out, rune === NEW_LINE ? AT.beginLine : 0, isWord, matched)
  }

  private stateOf(from: readonly number[], holding: number, afterWord: boolean, matched: boolean): State {
    const { threads, asks } = this.closure(from, holding)
    // What no thread asks about does not tell states apart.
    const holds = asks === 0 ? 0 : holding
    const isAfterWord = asks !== 0 && afterWord
    const flags = (matched ? 1 : 0) | (isAfterWord ? 2 : 0) | (holds << 2)
    const key = String.fromCharCode(flags, ...threads)
    const known = this.states.get(key)
    if (known !== undefined) return known
    const state: State = {
      threads,
      holds,
      asks,
      afterWord: isAfterWord,
      matched,
      bytes: BYTES_OF_STATE + threads.length * BYTES_OF_THREAD + this.endClass * BYTES_OF_CLASS,
      next: [],
    }
    this.bytes += state.bytes
    this.states.set(key, state)
    return state
  }

  /** Follows every instruction that takes no character; an assertion only if it holds. */
  private closure(from: readonly number[], holds: number): { threads: number[]; asks: number } {
    const mark = ++this.mark
    const open = [...from]
    const threads: number[] = []
    let asks = 0
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      if (at === 0 || this.marks[at] === mark) continue
      this.marks[at] = mark
      threads.push(at)
      const { op, out, arg } = this.program[at] as Instruction
      if (op === OP.alt || op === OP.altMatch) open.push(out, arg)
      else if (op === OP.nop || op === OP.capture) open.push(out)
      else if (op === OP.empty) {
        asks |= arg
        if ((arg & ~holds) === 0) open.push(out)
      }
    }
    return { threads: threads.length > 1 ? threads.sort(ascending) : threads, asks }
  }
}

const ascending = (a: number, b: number): number => a - b

const BYTES_OF_STATE = 300
const BYTES_OF_THREAD = 8
const BYTES_OF_CLASS = 16

const isWordCharacter = (rune: number): boolean =>
  (rune >= 48 && rune <= 57) || (rune >= 65 && rune <= 90) || rune === 95 || (rune >= 97 && rune <= 122)
