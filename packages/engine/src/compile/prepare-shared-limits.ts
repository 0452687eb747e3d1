import { type CompiledSession, type SharedLimit, windowMs } from '@countersign/protocol'
import type { PreparedSharedLimit, SharedLimits } from '../contract/shared-limit.js'
import { decimalText } from '../json/decimal.js'
import { suggestName } from '../text/closest-name.js'
import { preparePath } from './prepare-invariant.js'
import { conditional } from './prepare-when.js'
import { FIXES } from './report/fixes.js'
import type { Report } from './report/problem.js'

/** Null: the plan shares no limits, and nothing has to be read or written for them. */
export function prepareSharedLimits({ session, contracts }: CompiledSession, report: Report): SharedLimits | null {
  const written = session.shared_limits
  if (written === undefined) return null
  const tools = new Set(contracts.map(({ tool }) => tool))
  const names = new Set<string>()
  const all = written.flatMap((limit, index) => {
    const at = ['shared_limits', index]
    if (names.has(limit.name))
      report([...at, 'name'], `"${limit.name}" occurs twice under shared_limits`, FIXES.repeated)
    names.add(limit.name)
    if (limit.tool !== undefined && !tools.has(limit.tool)) {
      report([...at, 'tool'], `the tool "${limit.tool}" is not declared`, suggestName(limit.tool, tools))
    }
    if (limit.cost === true && session.pricing === undefined) {
      report([...at, 'cost'], 'the cost of a model call is not known without `pricing`', 'add `pricing`')
    }
    const prepared = prepareLimit(limit, at, report)
    return prepared === null ? [] : [prepared]
  })
  const calls = all.filter(({ counts }) => counts !== 'cost')
  const everywhere = calls.filter(({ tool }) => tool === null)
  const byTool = new Map<string, PreparedSharedLimit[]>()
  for (const tool of tools)
    byTool.set(
      tool,
      calls.filter((limit) => limit.tool === null || limit.tool === tool),
    )
  return {
    all,
    cost: all.filter(({ counts }) => counts === 'cost'),
    of: (tool) => byTool.get(tool) ?? everywhere,
    needs: {
      principal: all.some(({ per }) => per === 'principal'),
      workflow: all.some(({ per }) => per === 'workflow'),
    },
  }
}

function prepareLimit(limit: SharedLimit, at: (string | number)[], report: Report): PreparedSharedLimit | null {
  const { per, sum } = limit
  const key =
    typeof per === 'object'
      ? preparePath(per.argument, [...at, 'per', 'argument'], report, { singular: 'a key is a single one' })
      : null
  const path = sum === undefined ? null : preparePath(sum, [...at, 'sum'], report)
  const isRead = (typeof per !== 'object' || key !== null) && (sum === undefined || path !== null)
  if (!isRead) return null
  return {
    ...conditional(limit, at, report),
    name: limit.name,
    definition: limit,
    tool: limit.tool ?? null,
    per: typeof per === 'object' ? 'argument' : per,
    key,
    counts: limit.max_calls !== undefined ? 'calls' : sum !== undefined ? 'sum' : 'cost',
    path,
    most: decimalText(limit.max_calls ?? limit.lte ?? 0),
    windowMs: windowMs(limit.window),
  }
}
