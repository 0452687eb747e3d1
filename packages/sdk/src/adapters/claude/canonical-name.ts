/** Clients put a prefix before the names of MCP tools; the name of the server stays, since two may have one tool. */
export const canonicalName = (name: string): string => name.replace(/^mcp__/, '')
