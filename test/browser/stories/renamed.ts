import type { Fixtures } from './fixtures.js'

/** The same answers with other names in them: each of `names`, wherever it stands by itself, becomes `to`. */
export function renamed(fixtures: Fixtures, names: readonly string[], to: string): Fixtures {
  const rename = (answer: unknown): unknown =>
    typeof answer === 'number'
      ? answer
      : JSON.parse(
          names.reduce(
            (text, name) => text.replaceAll(JSON.stringify(name), JSON.stringify(to)),
            JSON.stringify(answer),
          ),
        )
  const entries = Object.entries(fixtures as Record<string, (asked: unknown) => unknown>)
  return Object.fromEntries(entries.map(([route, answer]) => [route, (asked: unknown) => rename(answer(asked))]))
}
