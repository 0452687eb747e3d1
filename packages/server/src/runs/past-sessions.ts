import { type PastSession, parseStrictJson } from '@countersign/engine'
import type { CompiledSession, JsonValue, RunFixture } from '@countersign/protocol'
import type { StoredCapture } from '../store/captures.js'

export interface NamedSession extends PastSession {
  readonly name: string
}

/** A conversation as it was captured: one turn a capture, flows as recorded. Results were not kept. */
export function capturedSession(name: string, items: readonly StoredCapture[]): NamedSession {
  return {
    name,
    agent: items[0]?.agent ?? null,
    user: [],
    turns: items.map(({ response, flows }) => ({
      calls: response.tool_calls.map((call) => {
        const parsed = call.arguments === null ? null : parseStrictJson(call.arguments === '' ? '{}' : call.arguments)
        const flow = flows?.calls.find(({ call_id, tool }) => call_id === call.id && tool === call.name)
        return {
          name: call.name,
          arguments: parsed?.ok === true ? parsed.value : null,
          ...(flow === undefined ? {} : { flow }),
        }
      }),
    })),
  }
}

/** Calls that were blocked when they were captured are expected to be blocked again; the others to pass. */
export function capturedExpectation(
  items: readonly StoredCapture[],
): (turn: number, call: number) => 'allow' | 'block' {
  return (turn, call) => items[turn]?.validation?.calls.find(({ index }) => index === call)?.decision ?? 'allow'
}

export function fixtureSession(fixture: RunFixture, agent: string | null): NamedSession {
  return {
    name: fixture.name,
    agent,
    user: fixture.user ?? [],
    ...(fixture.labels !== undefined && { labels: fixture.labels }),
    ...(fixture.principal !== undefined && { principal: fixture.principal }),
    turns: fixture.turns.map(({ calls }) => ({
      calls: calls.map(({ name, arguments: given, result }) => ({
        name,
        arguments: given,
        ...(result === undefined ? {} : { results: [result satisfies JsonValue] }),
      })),
    })),
  }
}

/**
 * A plan without the rules that read results. Captures hold none, so these rules could only say that something is
 * missing, which tells nothing about the session.
 */
export function withoutOutputRules({ contracts, ...plan }: CompiledSession): CompiledSession {
  return {
    ...plan,
    contracts: contracts.map(
      ({ refs: _refs, binds: _binds, envelopes: _envelopes, establishes: _establishes, ...contract }) => ({
        ...contract,
        ...(contract.preconditions === undefined ? {} : { preconditions: contract.preconditions.map(withoutOutput) }),
      }),
    ),
  }
}

type Precondition = NonNullable<CompiledSession['contracts'][number]['preconditions']>[number]

function withoutOutput(precondition: Precondition): Precondition {
  if (!('requires_prior_tool' in precondition)) return precondition
  const { with_output: _, ...rest } = precondition
  return rest
}
