/**
 * A response whose text is at hand: `text` and `json` give it without reading a stream, which takes half as long. The
 * body is a real one all the same, for whatever reads it in another way, such as a server that sends the response on.
 */
export function textResponse(text: string, init: ResponseInit): Response {
  const response = new Response(text, init)
  const { text: readText, json: readJson } = response
  // A body can be read once. If reading has begun, the platform says so.
  const takeBody = (): boolean => {
    const { body, bodyUsed } = response
    if (body === null || body.locked || bodyUsed) return false
    void body.cancel()
    return true
  }
  return Object.defineProperties(response, {
    text: { value: async () => (takeBody() ? text : readText.call(response)), configurable: true, writable: true },
    json: {
      value: async () => (takeBody() ? JSON.parse(text) : readJson.call(response)),
      configurable: true,
      writable: true,
    },
  })
}
