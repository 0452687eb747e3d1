/** A provider names the versions of a tool by dates: `web_search_20250305`, `web_search_preview_2025_03_11`. */
const VERSION = /(_preview)?(_\d{8}|_\d{4}_\d{2}_\d{2})?$/
const IS_VERSION = new RegExp(`^${VERSION.source}`)

/** True if a tool is a version of the one with this name. */
export const isVersionOf = (tool: string, name: string): boolean =>
  tool.startsWith(name) && IS_VERSION.test(tool.slice(name.length))

/** The name that has the most versions among these, the name itself included, and how many there are. */
export function mostVersions(tools: readonly string[]): { readonly name: string; readonly versions: number } {
  const counts = new Map<string, number>()
  for (const tool of tools) {
    const name = tool.replace(VERSION, '')
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  let most = { name: '', versions: 0 }
  for (const [name, versions] of counts) if (versions > most.versions) most = { name, versions }
  return most
}
