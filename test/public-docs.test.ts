import { readFileSync } from 'node:fs'
import type {
  ApprovalRequest,
  ApprovalResponse,
  BlockReason,
  Contract,
  Decision,
  ReplayOptions,
} from '@countersign/sdk'
import { describe, expect, expectTypeOf } from 'vitest'
import { proves } from './support/proves.js'

const SDK = 'packages/sdk/src'

/** What the SDK exports, by the file that declares it. */
const exported = [
  ...readFileSync(`${SDK}/index.ts`, 'utf8').matchAll(/^export (?:type )?\{([^}]*)\} from '\.\/(.*)\.js'/gm),
].map(([, names = '', file]) => ({
  file: `${SDK}/${file}.ts`,
  names: names.split(',').flatMap((name) => name.replace('type ', '').trim() || []),
}))

describe.each(exported)('$file', ({ file, names }) => {
  const lines = readFileSync(file, 'utf8').split('\n')
  for (const name of names) {
    proves('sdk.types.documented', `${name} and its members have TSDoc`, () => {
      expect(undocumented(lines, name)).toEqual([])
    })
  }
})

proves('sdk.types.exported', () => {
  type Ask = NonNullable<ReplayOptions['onCheckpoint']>
  expectTypeOf<Parameters<Ask>[0]>().toEqualTypeOf<ApprovalRequest>()
  expectTypeOf<Awaited<ReturnType<Ask>>>().toEqualTypeOf<ApprovalResponse>()
  expectTypeOf<Contract>().toExtend<NonNullable<ReplayOptions['contracts']>>()
  expectTypeOf<NonNullable<Decision['reason']>>().toEqualTypeOf<BlockReason>()
})

/** The declaration and those of its members that no comment ends right above. */
function undocumented(lines: readonly string[], name: string): string[] {
  const start = lines.findIndex((line) =>
    new RegExp(`^export (?:abstract )?(?:async )?(?:class|interface|type|const|function) ${name}\\b`).test(line),
  )
  if (start < 0) return [`${name} is not declared here`]
  const hasDoc = (at: number) => /\*\/$|^\s*\/\/ biome-ignore/.test(lines[at - 1] ?? '')
  const isBlock = /^export (?:class|interface)/.test(lines[start] ?? '') && (lines[start] ?? '').endsWith('{')
  const end = isBlock ? lines.indexOf('}', start) : start
  const members = lines
    .map((line, at) => ({ at, member: MEMBER.exec(line)?.[1] }))
    .filter(({ at, member }) => at > start && at < end && member !== undefined && member !== 'constructor')
  return [
    ...(hasDoc(start) ? [] : [name]),
    ...members.flatMap(({ at, member }) => (hasDoc(at) ? [] : `${name}.${member}`)),
  ]
}

/** A public member of a class or an interface. An override is documented where it is first declared. */
const MEMBER = /^ {2}(?:readonly |async |static )*([a-zA-Z]\w*)\??[:(<]/
