/** Rows as lines with aligned columns; line breaks inside a cell become spaces. */
export function columns(given: readonly (readonly string[])[]): string[] {
  const rows = given.map((row) => row.map((cell) => cell.replaceAll(/\s+/g, ' ')))
  const widths: number[] = []
  for (const row of rows) for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length)
  return rows.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
