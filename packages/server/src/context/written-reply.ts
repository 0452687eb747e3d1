/** A reply that is JSON already: what is stored so, and passed on as it is, need not be parsed and written again. */
export class WrittenReply<Of> {
  /** What it says; never set. */
  declare readonly of?: Of
  constructor(readonly text: string) {}
}

/** A reply as JSON. */
export const writeReply = (reply: unknown): string =>
  reply instanceof WrittenReply ? reply.text : JSON.stringify(reply)
