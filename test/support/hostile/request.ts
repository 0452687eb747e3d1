import type { Contract, Flows, JsonObject, JsonValue, SessionDefinition } from '@countersign/protocol'

/** What a hostile tenant sends: a plan, and a response of its model to be judged by it. */
export interface HostileRequest {
  readonly contracts: readonly Contract[]
  readonly session?: SessionDefinition
  readonly calls: readonly { readonly name: string; readonly args: JsonObject }[]
  readonly flows?: Flows
  readonly principal?: JsonValue
}

/** Whole numbers that a request is built from. The search turns them; the same numbers give the same request. */
export type Genes = Readonly<Record<string, number>>

/** A kind of request, with the range of each of its numbers. */
export interface Family {
  readonly name: string
  readonly genes: Readonly<Record<string, readonly [least: number, most: number]>>
  build(genes: Genes): HostileRequest
}

/** The response as a proposal carries it. */
export const responseOf = ({ calls }: HostileRequest) => ({
  tool_calls: calls.map(({ name, args }, index) => ({ id: `c${index}`, name, arguments: JSON.stringify(args) })),
})
