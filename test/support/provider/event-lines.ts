/** Events a line each, as the clients' own helpers read them back. */
export function eventLines(events: readonly object[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const event of events) controller.enqueue(new TextEncoder().encode(`${JSON.stringify(event)}\n`))
      controller.close()
    },
  })
}
