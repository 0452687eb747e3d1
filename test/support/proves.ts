import { type TestAPI, type TestFunction, type TestOptions, test } from 'vitest'
import { REQUIREMENTS, type RequirementId } from '../requirements.js'

/**
 * A test that proves rows of test/requirements.ts: `proves('label.never-removed', async () => { … })`.
 * Several ids go in an array; a name after the ids replaces the rows' own sentences.
 */
export const proves = provesWith(test)

/** The same for a test with fixtures: `const proves = provesWith(test.extend({ runtime }))`. */
export function provesWith<Fixtures extends object>(run: TestAPI<Fixtures>): Proves<Fixtures> {
  return (cited, ...rest) => {
    const ids = typeof cited === 'string' ? [cited] : cited
    if (ids.length === 0) throw new Error('proves() cites no requirement: give at least one id')
    const [name, fn, options] = isNamed(rest) ? rest : [sentenceOf(ids), ...rest]
    const title = `${name} [${ids.join(', ')}]`
    // Vitest reads the fixtures a test asks for from the function's own text, so it gets the function itself.
    run(title, typeof options === 'number' ? { timeout: options } : (options ?? {}), fn)
  }
}

export type Proves<Fixtures> = (ids: Citation, ...rest: Unnamed<Fixtures> | Named<Fixtures>) => void
export type Citation = RequirementId | readonly RequirementId[]
type Unnamed<Fixtures> = [fn: TestFunction<Fixtures>, options?: number | TestOptions]
type Named<Fixtures> = [name: string, fn: TestFunction<Fixtures>, options?: number | TestOptions]

function isNamed<Fixtures>(rest: Unnamed<Fixtures> | Named<Fixtures>): rest is Named<Fixtures> {
  return typeof rest[0] === 'string'
}

const behaviours = new Map<string, string>(REQUIREMENTS.map(({ id, behaviour }) => [id, behaviour]))

function sentenceOf(ids: readonly RequirementId[]): string {
  return ids.map((id) => behaviours.get(id)).join('; ')
}
