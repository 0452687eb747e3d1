import type { McpServer } from '@modelcontextprotocol/server'

export function createShop(log?: (line: string) => void, changes?: (change: () => void) => void): McpServer
