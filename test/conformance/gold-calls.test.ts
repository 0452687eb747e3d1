import { type CompiledSchema, compileSchema } from '@countersign/engine'
import type { JsonObject, JsonValue } from '@countersign/protocol'
import { expect, test } from 'vitest'
import { describeShared } from '../support/data/describe-shared.js'
import { closeSchema, MUTATIONS, type Mutation } from '../support/data/mutate-arguments.js'
import { seededRandom } from '../support/data/random.js'
import { readSharedJson, readSharedLines } from '../support/data/shared-data.js'

interface Tool {
  name: string
  parameters: JsonObject
}

interface GoldCall {
  tool: string
  arguments: JsonObject
  schema: JsonObject
  compiled: CompiledSchema
}

const SINGLE = 'gold-calls/bfcl-single-turn.jsonl.gz'
const MULTI = 'gold-calls/bfcl-multi-turn.jsonl.gz'
const MULTI_TOOLS = 'gold-calls/bfcl-multi-turn-tools.json'
const SEED = 20_260_101

describeShared('BFCL gold calls', SINGLE, () => {
  const compiled = new Map<string, CompiledSchema>()
  const compile = (parameters: JsonObject): { schema: JsonObject; compiled: CompiledSchema } => {
    const schema = closeSchema(parameters)
    const key = JSON.stringify(schema)
    const known = compiled.get(key)
    if (known !== undefined) return { schema, compiled: known }
    const fresh = compileSchema(schema)
    if (!fresh.ok) throw new Error(`${fresh.problem}: ${key}`)
    compiled.set(key, fresh)
    return { schema, compiled: fresh }
  }
  const calls = [...singleTurn(compile), ...multiTurn(compile)]
  const accepted = calls.filter((call) => call.compiled.test(call.arguments))

  test('there are gold calls of both kinds', () => expect(calls.length).toBeGreaterThan(3_000))

  test('the schemas of the tools accept the gold calls, but for those that break their own schema', () => {
    const refused: Record<string, number> = {}
    for (const { tool, arguments: args, compiled } of calls) {
      const [problem] = compiled.validate(args)
      if (problem === undefined) continue
      const breach = `${tool}: ${problem.keyword} at ${problem.path}`
      refused[breach] = (refused[breach] ?? 0) + 1
    }
    expect(refused).toEqual(GOLD_CALLS_AGAINST_THEIR_SCHEMA)
  })

  test.each(Object.keys(MUTATIONS))('at least 95 %% of the mutants are blocked: %s', (name) => {
    const { made, blocked } = judgeMutants(accepted, MUTATIONS[name] as Mutation)
    expect(made).toBeGreaterThan(500)
    expect(blocked / made).toBeGreaterThanOrEqual(0.95)
  })
})

function judgeMutants(calls: readonly GoldCall[], mutate: Mutation): { made: number; blocked: number } {
  const random = seededRandom(SEED)
  let made = 0
  let blocked = 0
  for (const call of calls) {
    const mutant = mutate(call.arguments, call.schema, random)
    if (mutant === null) continue
    made++
    if (!call.compiled.test(mutant)) blocked++
  }
  return { made, blocked }
}

type Compile = (parameters: JsonObject) => { schema: JsonObject; compiled: CompiledSchema }

function singleTurn(compile: Compile): GoldCall[] {
  const rows = readSharedLines<{ id: string; tools: Tool[]; gold_calls: { name: string; arguments: JsonObject }[] }>(
    SINGLE,
  )
  return rows.flatMap(({ id, tools, gold_calls }) => gold_calls.map((call) => goldCall(id, tools, call, compile)))
}

function multiTurn(compile: Compile): GoldCall[] {
  const tools = readSharedJson<Tool[]>(MULTI_TOOLS)
  const rows = readSharedLines<{ id: string; calls: { name: string; arguments: JsonObject }[] }>(MULTI)
  return rows.flatMap(({ id, calls }) => calls.map((call) => goldCall(id, tools, call, compile)))
}

function goldCall(
  id: string,
  tools: readonly Tool[],
  call: { name: string; arguments: Record<string, JsonValue> },
  compile: Compile,
): GoldCall {
  const tool = tools.find(({ name }) => name === call.name)
  if (tool === undefined) throw new Error(`${id} calls ${call.name}, which it does not have`)
  return { tool: call.name, arguments: call.arguments, ...compile(tool.parameters) }
}

/** Gold calls that their own tool's schema forbids: which rule, where, and how often. */
const GOLD_CALLS_AGAINST_THEIR_SCHEMA: Record<string, number> = {
  'ControlAppliance.execute: enum at $.command': 1,
  'Flights_4_SearchOnewayFlight: required at $.origin_airport': 1,
  'Homes_2_FindHomeByArea: type at $.in_unit_laundry': 7,
  'Hotels_4_SearchHotel: type at $.number_of_rooms': 2,
  'Hotels_4_SearchHotel: type at $.smoking_allowed': 7,
  'Media_3_FindMovies: enum at $.genre': 2,
  'Movies_1_FindMovies: enum at $.genre': 7,
  'Movies_1_FindMovies: enum at $.show_type': 2,
  'Music_3_LookupMusic: enum at $.genre': 1,
  'Music_3_LookupMusic: type at $.year': 9,
  'Restaurants_2_FindRestaurants: enum at $.price_range': 2,
  'Services_1_FindProvider: type at $.is_unisex': 3,
  'Trains_1_FindTrains: additionalProperties at $.journey_start_time': 1,
  'bank.calculate_balance: additionalProperties at $.type': 1,
  'calculate_voltage_difference: additionalProperties at $.permeability': 1,
  'close_ticket: type at $.ticket_id': 1,
  'cmd_controller.execute: enum at $.unit': 21,
  'game_result.get_winner: type at $.venue': 1,
  'game_rewards.get: enum at $.trophy': 1,
  'linear_regression_fit: type at $.x': 1,
  'list_servers: enum at $.type': 1,
  'partner.mandates: enum at $.status': 1,
  'record: required at $.acc_routing_start': 1,
  'record: required at $.auto_loan_payment_start': 1,
  'sendHttpRequest: additionalProperties at $.data.name': 1,
  'set_countdown: enum at $.duration': 1,
  'sort_list: type at $.elements[0]': 1,
  'transfer_to_human_agent: required at $.statement': 1,
}
