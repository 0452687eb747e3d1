type JsonObject = { [key: string]: unknown }

/** What a stream says, and how the reason for its block names it. */
export type Contradiction = [what: string, events: JsonObject[], reason: RegExp]
/** What a stream says, and the calls that it makes. */
export type Legal = [what: string, events: JsonObject[], calls: string[]]

/** What may pass, and what may not. */
export const LITTLE = '{"amount":5}'
export const MUCH = '{"amount":501.875}'
