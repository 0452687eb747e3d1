import type { AggregateBound, CompiledContract } from '@countersign/protocol'
import { rowsExpression } from '../contract/check-invariant.js'
import type {
  Keeping,
  KeptKind,
  KeyedName,
  PreparedAggregate,
  PreparedBind,
  PreparedBound,
  PreparedEnvelope,
  PreparedRef,
  SlotUse,
} from '../contract/plan.js'
import { decimalText } from '../json/decimal.js'
import type { CompiledPath } from '../json/json-path.js'
import { preparePath } from './prepare-invariant.js'
import { conditional } from './prepare-when.js'
import type { Report } from './report/problem.js'

/** The rules of a contract about values that a session keeps: bindings, envelopes and aggregates. */
export interface KeptRules {
  readonly binds: readonly PreparedBind[]
  readonly establishes: readonly PreparedBind[]
  readonly refs: readonly PreparedRef[]
  readonly envelopes: readonly PreparedEnvelope[]
  readonly aggregates: readonly PreparedAggregate[]
  readonly keys: readonly CompiledPath[]
  readonly slots: readonly KeyedName[]
  readonly keeps: readonly Keeping[]
}

/** `keyed`: the names of envelopes that the plan keeps per key. */
export function prepareKept(contract: CompiledContract, keyed: ReadonlySet<string>, report: Report): KeptRules {
  const slots: KeyedName[] = []
  const slotOf = new Map<string, number>()
  const use: UseSlot = (name, key) => {
    if (key === null) return { name, key, slot: -1 }
    const about = JSON.stringify([name, key.expression])
    const slot = slotOf.get(about) ?? slots.push({ name, key }) - 1
    slotOf.set(about, slot)
    return { name, key, slot }
  }
  const to: Preparation = { use, report }
  const binds = prepareBinds(contract.binds, 'binds', to)
  const establishes = prepareBinds(contract.establishes, 'establishes', to)
  const refs = prepareRefs(contract.refs, to)
  const envelopes = prepareEnvelopes(contract.envelopes, to)
  const aggregates = prepareAggregates(contract.aggregates, keyed, to)
  const keys = new Map(slots.map(({ key }) => [key.expression, key]))
  const keeping = (kind: KeptKind, list: readonly SlotUse[]): Keeping[] =>
    list.flatMap(({ name, key, slot }) =>
      key === null || slot === -1 ? [] : [{ kind, name, countedAs: `${kind}.${name}`, slot }],
    )
  const sums = aggregates.filter((aggregate) => aggregate.function !== 'max')
  const keeps = [...keeping('bindings', binds), ...keeping('envelopes', establishes), ...keeping('aggregates', sums)]
  return { binds, establishes, refs, envelopes, aggregates, keys: [...keys.values()], slots, keeps }
}

type UseSlot = (name: string, key: CompiledPath | null) => SlotUse

interface Preparation {
  readonly use: UseSlot
  readonly report: Report
}

/** The names that contracts establish for each key. */
export const keyedEnvelopes = (contracts: readonly CompiledContract[]): ReadonlySet<string> =>
  new Set(
    contracts.flatMap(({ establishes }) =>
      (establishes ?? []).flatMap(({ name, key }) => (key === undefined ? [] : [name])),
    ),
  )

function prepareKey(key: string | undefined, at: readonly (string | number)[], report: Report): CompiledPath | null {
  return key === undefined ? null : preparePath(key, [...at, 'key'], report, { singular: 'a key is a single one' })
}

function prepareBinds(list: CompiledContract['binds'], rule: string, { use, report }: Preparation): PreparedBind[] {
  const singular = rule === 'binds' ? 'a binding holds only one' : 'an envelope is established by only one'
  return (list ?? []).flatMap((bind, index): PreparedBind[] => {
    const { name, key, each, from, path } = bind
    const compiled = preparePath(path, [rule, index, 'path'], report, { singular })
    if (compiled === null) return []
    const keyPath = prepareKey(key, [rule, index], report)
    if (each === undefined) return [{ ...use(name, keyPath), from, path: compiled, rows: null }]
    const rows = preparePath(each, [rule, index, 'each'], report)
    if (rows === null) return []
    if (from === 'output' && keyPath !== null && !rows.singular) {
      return [{ name, key: keyPath, slot: -1, from, path: compiled, rows: rowsExpression(rows, keyPath, compiled) }]
    }
    const fix = from !== 'output' ? 'remove `from`' : key === undefined ? 'add `key`' : 'write $.rows[*]'
    report([rule, index, 'each'], '`each` reads rows of a result', fix)
    return []
  })
}

function prepareRefs(list: CompiledContract['refs'], { use, report }: Preparation): PreparedRef[] {
  return (list ?? []).flatMap((item, index) => {
    const { path, ref, key } = item
    const compiled = preparePath(path, ['refs', index, 'path'], report)
    if (compiled === null) return []
    const slot = use(ref, prepareKey(key, ['refs', index], report))
    return [{ ...slot, ...conditional(item, ['refs', index], report), path: compiled }]
  })
}

function prepareEnvelopes(list: CompiledContract['envelopes'], { use, report }: Preparation): PreparedEnvelope[] {
  return (list ?? []).flatMap((item, index) => {
    const { name, key, path, direction, tolerance_percent } = item
    const compiled = preparePath(path, ['envelopes', index, 'path'], report)
    if (compiled === null) return []
    const slot = use(name, prepareKey(key, ['envelopes', index], report))
    const tolerancePercent = decimalText(tolerance_percent)
    return [
      { ...slot, ...conditional(item, ['envelopes', index], report), path: compiled, direction, tolerancePercent },
    ]
  })
}

function prepareAggregates(
  list: CompiledContract['aggregates'],
  keyed: ReadonlySet<string>,
  { use, report }: Preparation,
): PreparedAggregate[] {
  return (list ?? []).flatMap((item, index) => {
    const smallest = item.function === 'count' ? 1 : 0
    const { lte, lt } = item
    if ((typeof lte === 'number' && lte < smallest) || (typeof lt === 'number' && lt <= smallest)) {
      const message = `no call can pass this rule: every call adds at least ${smallest}`
      report(['aggregates', index], message, 'raise the limit; to forbid the tool, use `gate: block`')
    }
    const key = prepareKey(item.key, ['aggregates', index], report)
    const bound = (operator: PreparedBound['operator'], value: AggregateBound | undefined): PreparedBound[] => {
      if (value === undefined) return []
      if (typeof value === 'number') return [{ operator, value: decimalText(value), ref: null }]
      return [{ operator, value: null, ref: use(value.ref, keyed.has(value.ref) ? key : null) }]
    }
    return [
      {
        ...use(item.name, key),
        ...conditional(item, ['aggregates', index], report),
        function: item.function,
        path: item.path === undefined ? null : preparePath(item.path, ['aggregates', index, 'path'], report),
        bounds: [...bound('lte', lte), ...bound('lt', lt)],
      },
    ]
  })
}
