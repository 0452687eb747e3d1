const SHOWN_NAME_LENGTH = 64

/** Names come from the model: quoted and cut, so that none can pass for a sentence of ours. */
export function quoteName(name: string): string {
  return JSON.stringify(name.length > SHOWN_NAME_LENGTH ? `${name.slice(0, SHOWN_NAME_LENGTH)}…` : name)
}
