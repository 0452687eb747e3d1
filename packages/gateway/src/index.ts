export { type GatewaySettings, readSettings, SETTINGS, SettingsError, settingsHelp } from './base/settings.js'
export { type GatewayFlags, runGateway } from './main.js'
export { type Gateway, type GatewayParts, startGateway } from './process/start-gateway.js'
