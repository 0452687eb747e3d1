/** A record as JSON with the names of the API: snake_case, like every other output and the wire itself. */
export const snakeJson = (value: unknown): string =>
  JSON.stringify(
    value,
    (_key, item: unknown) =>
      typeof item === 'object' && item !== null && !Array.isArray(item)
        ? Object.fromEntries(Object.entries(item).map(([name, part]) => [snake(name), part]))
        : item,
    2,
  )

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
