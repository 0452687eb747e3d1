import type { Steps } from '@countersign/engine'
import { z } from 'zod'

/** What is wrong with a part of a value, and where. */
export interface Fault {
  readonly path: readonly string[]
  readonly message: string
}

/** More of them help nobody, and putting one into words takes longer than checking a hundred parts. */
const MOST_FAULTS = 20
/** A value with so few parts is looked at in one step, and its shape names all of its faults. */
const FEW_PARTS = 200
/** A name or a message may be as long as the body that it is about. */
const MOST_CHARACTERS = 500

/**
 * The first faults of a value, a small part at a step; none where it has the shape. A shape alone collects every fault of
 * a value before it says one: a megabyte that is wrong everywhere took it ten seconds.
 */
export function* firstFaults(schema: z.ZodType, value: unknown, most = MOST_FAULTS): Steps<Fault[]> {
  const faults: Fault[] = []
  yield* look({ schema, value, path: [] }, { faults, most })
  return faults.slice(0, most)
}

interface Part {
  readonly schema: z.ZodType
  readonly value: unknown
  readonly path: readonly string[]
}

interface Found {
  readonly faults: Fault[]
  readonly most: number
}

function* look(part: Part, found: Found): Steps<void> {
  const { value } = part
  const schema = bare(part.schema)
  yield
  if (hasFewParts(value)) note(part, found)
  else if (schema instanceof z.ZodPipe) yield* lookInTurn({ ...part, schema }, found)
  else if (schema instanceof z.ZodUnion) yield* lookAtOptions({ ...part, schema }, found)
  else if (schema instanceof z.ZodArray && Array.isArray(value)) yield* lookAtItems({ ...part, schema, value }, found)
  else if (schema instanceof z.ZodRecord && isObject(value)) yield* lookAtEntries({ ...part, schema, value }, found)
  else if (schema instanceof z.ZodObject && isObject(value)) yield* lookAtMembers({ ...part, schema, value }, found)
  // Of another kind than its shape, or any JSON: one fault at most.
  else note(part, found)
}

type PartOf<Schema, Value> = Part & { readonly schema: Schema; readonly value: Value }

/** What is asked first, and only where that finds nothing the rest. */
function* lookInTurn({ schema, value, path }: PartOf<z.ZodPipe, unknown>, found: Found): Steps<void> {
  const before = found.faults.length
  note({ schema: schema.in as z.ZodType, value, path }, found)
  if (found.faults.length === before) yield* look({ schema: schema.out as z.ZodType, value, path }, found)
}

function* lookAtOptions({ schema, value, path }: PartOf<z.ZodUnion, unknown>, { faults }: Found): Steps<void> {
  for (const option of schema.options as readonly z.ZodType[])
    if ((yield* firstFaults(option, value, 1)).length === 0) return
  faults.push(faultOf(path, 'Invalid input'))
}

function* lookAtItems({ schema, value, path }: PartOf<z.ZodArray, readonly unknown[]>, found: Found): Steps<void> {
  const before = found.faults.length
  // How long the list may be; its items are not looked at for that.
  note({ schema: schema.clone({ ...schema.def, element: z.unknown() }), value, path }, found)
  if (found.faults.length > before) return
  for (const [at, item] of value.entries()) {
    if (isEnough(found)) return
    yield* look({ schema: schema.element as z.ZodType, value: item, path: [...path, String(at)] }, found)
  }
}

function* lookAtEntries({ schema, value, path }: PartOf<z.ZodRecord, object>, found: Found): Steps<void> {
  for (const name in value) {
    if (isEnough(found)) return
    const entry = value[name as keyof object] as unknown
    const isSmall = hasFewParts(entry)
    const named = isSmall ? schema : schema.clone({ ...schema.def, valueType: z.unknown() })
    note({ schema: named, value: { [name]: isSmall ? entry : null }, path }, found)
    if (!isSmall) yield* look({ schema: schema.valueType as z.ZodType, value: entry, path: [...path, name] }, found)
    yield
  }
}

function* lookAtMembers({ schema, value, path }: PartOf<z.ZodObject, object>, found: Found): Steps<void> {
  const shape = schema.shape as Readonly<Record<string, z.ZodType>>
  const members: Record<string, unknown> = {}
  const before = found.faults.length
  for (const [name, member] of Object.entries(shape)) {
    if (isEnough(found)) return
    if (Object.hasOwn(value, name)) members[name] = value[name as keyof object]
    yield* look({ schema: member, value: members[name], path: [...path, name] }, found)
  }
  // What is left to find are members that the shape does not have, and members that do not fit each other.
  const own = Object.fromEntries(Object.keys(shape).map((name) => [name, z.unknown().optional()]))
  const checks = found.faults.length === before ? (schema.def.checks ?? []) : []
  const whole = { ...members, ...fewUnknown(shape, value, found.most) }
  note({ schema: schema.clone({ ...schema.def, shape: own, checks }), value: whole, path }, found)
}

/** Some of the members that a shape does not have: there may be a hundred thousand. */
function fewUnknown(shape: object, value: object, most: number): Record<string, unknown> {
  const unknown: [string, unknown][] = []
  for (const name in value) {
    if (Object.hasOwn(shape, name)) continue
    unknown.push([name, null])
    if (unknown.length === most) break
  }
  return Object.fromEntries(unknown)
}

const isEnough = ({ faults, most }: Found): boolean => faults.length >= most

/** Adds what the shape says of a part. */
function note({ schema, value, path }: Part, { faults, most }: Found): void {
  const result = schema.safeParse(value)
  if (result.success) return
  for (const issue of result.error.issues.slice(0, most - faults.length))
    faults.push(faultOf([...path, ...issue.path.map(String)], issue.message))
}

const faultOf = (path: readonly string[], message: string): Fault => ({
  path: path.map(cut),
  message: cut(message),
})

const cut = (text: string): string => (text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text)

/** The shape of a value that is there. */
function bare(schema: z.ZodType): z.ZodType {
  let inner = schema
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodDefault || inner instanceof z.ZodNullable)
    inner = inner.unwrap() as z.ZodType
  return inner
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function hasFewParts(root: unknown): boolean {
  const open = [root]
  let parts = 0
  for (let value = open.pop(); ; value = open.pop()) {
    parts += 1
    if (typeof value === 'object' && value !== null) {
      if (Array.isArray(value) && value.length > FEW_PARTS) return false
      for (const name in value) {
        if (parts + open.length > FEW_PARTS) return false
        open.push(value[name as keyof object])
      }
    }
    if (open.length === 0) return true
  }
}
