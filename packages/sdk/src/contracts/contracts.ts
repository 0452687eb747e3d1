import { basename } from 'node:path'
import {
  type CompileNote,
  type CompileResult,
  type ContractSource,
  compilePlan,
  describeNote,
  type Plan,
  type PlanSources,
  type PolicyEvaluator,
} from '@countersign/engine'
import type { CompiledSession, Contract, SessionDefinition } from '@countersign/protocol'
import { ReplayConfigError } from '../base/errors.js'
import { readContractFiles, readPack, readSessionFile } from './contract-files.js'

/** A pack's folder, contract files, or contracts as objects. */
export type ContractsInput = string | readonly string[] | Contract | readonly Contract[]

/** Options of `prepareContracts` and `compileContracts`. */
export interface PrepareContractsOptions {
  /** The session definition: the path of a session.yaml, or an object. The one in a pack is found automatically. */
  readonly session?: string | SessionDefinition | undefined
  /** Evaluates policies. Without it, policies are not checked. */
  readonly policy?: PolicyEvaluator | undefined
}

/** Contracts that compiled as a whole, ready for `validate` and for the option `contracts` of `replay`. */
export interface PreparedContracts {
  /** The plan, ready to evaluate responses. */
  readonly plan: Plan
  /** The plan as it is sent to the server. */
  readonly compiled_session: CompiledSession
  /** The hash that identifies the plan. */
  readonly compiled_hash: string
  /** What is allowed, but probably not meant. */
  readonly warnings: readonly CompileNote[]
}

/** Reads and compiles contracts. Throws ReplayConfigError `compilation_failed` that names every fault; never takes a part. */
export function prepareContracts(input: ContractsInput, options: PrepareContractsOptions = {}): PreparedContracts {
  const result = compileContracts(input, options)
  if (!result.ok) throw compilationFailed(result.errors)
  const { plan, compiled_session, compiled_hash, warnings } = result
  return { plan, compiled_session, compiled_hash, warnings }
}

/** The same, with the faults as data. Throws only where a file cannot be read. */
export function compileContracts(input: ContractsInput, options: PrepareContractsOptions = {}): CompileResult {
  return compilePlan(readSources(input, options.session), { policy: options.policy })
}

export function isPrepared(contracts: unknown): contracts is PreparedContracts {
  return typeof contracts === 'object' && contracts !== null && 'plan' in contracts && 'compiled_hash' in contracts
}

export function compilationFailed(
  errors: readonly CompileNote[],
  what = 'the contracts do not compile',
): ReplayConfigError {
  const list = errors.map((note) => `\n  ${describeNote(note)}`).join('')
  return new ReplayConfigError(`${what}:${list}`, 'compilation_failed')
}

export function readSources(input: ContractsInput, session: PrepareContractsOptions['session']): PlanSources {
  const found = typeof input === 'string' ? readPack(input) : readList(input)
  if (session === undefined) return found
  return { ...found, session: typeof session === 'string' ? readSessionFile(session) : asSource('session', session) }
}

function readList(input: Exclude<ContractsInput, string>): PlanSources {
  if (typeof input !== 'object' || input === null) {
    throw new ReplayConfigError('pass a folder, an array of contract files, or contract objects', 'compilation_failed')
  }
  const items: readonly unknown[] = Array.isArray(input) ? input : [input]
  const paths = items.filter((item) => typeof item === 'string')
  if (paths.length === 0) {
    return { contracts: items.map((item, index) => asSource(nameOf(item, index), item)) }
  }
  if (paths.length < items.length) {
    throw new ReplayConfigError('pass either contract files or contract objects, not both', 'compilation_failed')
  }
  const isSession = (path: string) => SESSION_FILE.test(basename(path))
  const sessions = paths.filter(isSession)
  if (sessions.length > 1) {
    throw new ReplayConfigError(`there are ${sessions.length} session files: keep one`, 'compilation_failed')
  }
  const contracts = readContractFiles(paths.filter((path) => !isSession(path)))
  return sessions[0] === undefined ? { contracts } : { contracts, session: readSessionFile(sessions[0]) }
}

const SESSION_FILE = /^session\.(ya?ml|json)$/

const asSource = (file: string, value: unknown): ContractSource => ({ file, value })

/** Objects have no file; errors name the tool instead. */
function nameOf(item: unknown, index: number): string {
  const tool = typeof item === 'object' && item !== null && 'tool' in item ? item.tool : undefined
  return typeof tool === 'string' ? tool : `contracts[${index}]`
}
