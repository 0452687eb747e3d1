import type { CompiledSession } from '@countersign/protocol'
import type { PhaseGraph } from '../contract/plan.js'
import { FIXES } from './report/fixes.js'
import type { Report } from './report/problem.js'

/** Builds the phase graph of a session and reports what is wrong with it. Null without phases. */
export function buildPhaseGraph(session: CompiledSession['session'], report: Report): PhaseGraph | null {
  let isSound = true
  const problem: Report = (...found) => {
    isSound = false
    report(...found)
  }
  if (session.phases === undefined) {
    if (session.transitions !== undefined) {
      problem(['transitions'], '`transitions` needs `phases`', 'list the phases under `phases`')
    }
    return null
  }
  const names = new Set<string>()
  session.phases.forEach(({ name }, index) => {
    if (names.has(name)) {
      problem(['phases', index, 'name'], `the phase "${name}" is declared twice`, FIXES.repeated)
    }
    names.add(name)
  })
  const initial = session.phases.filter((phase) => phase.initial === true).map(({ name }) => name)
  const terminal = new Set(session.phases.filter((phase) => phase.terminal === true).map(({ name }) => name))
  if (initial.length !== 1) {
    const found = initial.length === 0 ? 'no phase is initial' : `${initial.length} phases are initial`
    problem(['phases'], found, 'mark exactly one phase with `initial: true`')
  }
  if (terminal.size === 0) problem(['phases'], 'no phase is terminal', 'mark at least one phase with `terminal: true`')
  const moves = readMoves(session, names, problem)
  const graph: PhaseGraph = { names, initial: initial[0] ?? '', terminal, moves }
  if (isSound) checkReach(graph, session.phases, problem)
  return graph
}

function readMoves(session: CompiledSession['session'], names: ReadonlySet<string>, problem: Report) {
  const moves = new Map<string, Set<string>>()
  for (const [from, targets] of Object.entries(session.transitions ?? {})) {
    if (!names.has(from)) {
      problem(['transitions', from], `the phase "${from}" is not declared`, () => declareOneOf(names))
    }
    targets.forEach((to, index) => {
      if (!names.has(to)) {
        problem(['transitions', from, index], `the phase "${to}" is not declared`, () => declareOneOf(names))
      }
    })
    moves.set(from, new Set(targets))
  }
  return moves
}

const declareOneOf = (names: ReadonlySet<string>) =>
  `declare it under \`phases\`, or use one of ${[...names].slice(0, 40).join(', ')}`

function checkReach(graph: PhaseGraph, phases: readonly { readonly name: string }[], problem: Report): void {
  const reachable = closure([graph.initial], graph.moves)
  const ending = closure(graph.terminal, reversed(graph.moves))
  phases.forEach(({ name }, index) => {
    if (!reachable.has(name)) {
      const message = `the phase "${name}" cannot be reached from "${graph.initial}"`
      problem(['phases', index], message, 'add a transition that leads to it, or remove it')
    }
    if (ending.has(name)) return
    const isInCycle = () => closure(graph.moves.get(name) ?? [], graph.moves).has(name)
    const message = () =>
      isInCycle()
        ? `the phase "${name}" is part of a cycle that never reaches a terminal phase`
        : `no terminal phase can be reached from "${name}"`
    problem(['phases', index], message, 'add a transition towards a terminal phase, or mark it `terminal: true`')
  })
}

function closure(start: Iterable<string>, moves: ReadonlyMap<string, ReadonlySet<string>>): Set<string> {
  const seen = new Set(start)
  for (const name of seen) {
    for (const next of moves.get(name) ?? []) seen.add(next)
  }
  return seen
}

function reversed(moves: ReadonlyMap<string, ReadonlySet<string>>): Map<string, Set<string>> {
  const back = new Map<string, Set<string>>()
  for (const [from, targets] of moves) {
    for (const to of targets) {
      const origins = back.get(to) ?? new Set()
      back.set(to, origins.add(from))
    }
  }
  return back
}
