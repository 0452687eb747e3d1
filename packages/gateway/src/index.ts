export { type GatewaySettings, readSettings, SETTINGS, SettingsError, settingsHelp } from './base/settings.js'
export { type GatewayFlags, runGateway, runMcp } from './main.js'
export { McpFlagError, type McpFlags } from './process/run-mcp.js'
export { type Gateway, type GatewayParts, startGateway } from './process/start-gateway.js'
