const WIDTH = 120

/** JSON for people who review it: what fits on a line is on one line. */
export function compactJson(value: unknown, indent = '', before = 0): string {
  const flat = JSON.stringify(value)
  const fits = indent.length + before + flat.length <= WIDTH
  if (fits || typeof value !== 'object' || value === null) return flat
  const inner = `${indent} `
  const lines = Array.isArray(value)
    ? value.map((item) => inner + compactJson(item, inner))
    : Object.entries(value).map(([name, member]) => {
        const key = `${JSON.stringify(name)}: `
        return inner + key + compactJson(member, inner, key.length)
      })
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return `${open}\n${lines.join(',\n')}\n${indent}${close}`
}
