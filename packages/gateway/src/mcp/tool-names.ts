/** The tool of a server as contracts name it; the tool's own name where the server has none. */
export const canonicalName = (server: string | null, tool: string): string =>
  server === null ? tool : `${server}__${tool}`

/**
 * The tool that a client means, in the server's own words: hosts put `mcp__server__`, or the server alone, before the
 * names that they were given. A name is that of a tool only when it is so character by character.
 */
export function meantTool(name: string, server: string | null, has: (tool: string) => boolean): string | null {
  if (has(name)) return name
  const own = server === null ? null : `${server}__`
  const bare = name.replace(/^mcp__/, '')
  if (own !== null && bare.startsWith(own) && has(bare.slice(own.length))) return bare.slice(own.length)
  // The host has a name of its own for the server.
  const prefixed = /^mcp__[A-Za-z0-9._-]+?__(.+)$/s.exec(name)?.[1]
  return prefixed !== undefined && has(prefixed) ? prefixed : null
}

/** The name under which the model, and with it a turn on the wire, calls a tool of a server. */
export const withoutClientPrefix = (name: string): string => name.replace(/^mcp__/, '')
