import { jsonValue, webAddress } from './setting-values.js'

/** An MCP server that the gateway stands before. */
export interface McpServer {
  readonly url: string
  /** Sent with every request to it, such as its credential. */
  readonly headers: Readonly<Record<string, string>>
}

export type McpServers = ReadonlyMap<string, McpServer>

/** A name of a server in the names of its tools. No double underscore, so that `server__tool` has one reading. */
const SERVER_NAME = /^[A-Za-z0-9]+(?:[-_.][A-Za-z0-9]+)*$/

/** What is wrong with the name of a server; null if it can be used. */
export function serverNameProblem(name: string): string | null {
  if (name.length <= 64 && SERVER_NAME.test(name)) return null
  return 'must be at most 64 letters, digits, dots, hyphens and single underscores, such as github or my-db'
}

/** `name=URL,name=URL`, or a JSON object of URLs, or of `{ url, headers }`, by name. Values are not repeated: they hold keys. */
export function mcpServers(value: string): McpServers {
  const isJson = value.trim().startsWith('{')
  const entries = isJson ? Object.entries(jsonValue(value) as object) : value.split(',').filter(Boolean).map(pairIn)
  return new Map(
    entries.map(([name, given]): [string, McpServer] => {
      const problem = serverNameProblem(name)
      if (problem !== null)
        throw new Error(`must name servers as in files=https://files.example/mcp; a name ${problem}`)
      return [name, serverIn(name, given)]
    }),
  )
}

function serverIn(name: string, given: unknown): McpServer {
  const { url, headers = {}, ...rest } = typeof given === 'string' ? { url: given } : Object(given)
  if (typeof url !== 'string' || Object.keys(rest).length > 0 || typeof headers !== 'object' || headers === null) {
    throw new Error(`must give ${name} a URL, or { "url": …, "headers": { … } }`)
  }
  try {
    new Headers(headers)
    return { url: webAddress(url), headers }
  } catch {
    throw new Error(`must give ${name} an http or https URL, and headers that can be sent`)
  }
}

function pairIn(text: string): [string, string] {
  const at = text.indexOf('=')
  return [text.slice(0, Math.max(at, 0)).trim(), text.slice(at + 1).trim()]
}
