/** Headers of an answer while it is made. A cookie is appended; any other name is set once. */
export class ReplyHeaders {
  readonly #fields: Record<string, string> = {}
  readonly #cookies: string[] = []

  set(name: string, value: string): void {
    this.#fields[name] = value
  }

  appendCookie(value: string): void {
    this.#cookies.push(value)
  }

  /** In the form that makes an answer fastest: a plain object, unless a name comes more than once. */
  with(
    first: Readonly<Record<string, string>>,
    last: Readonly<Record<string, string>>,
  ): Record<string, string> | [string, string][] {
    const fields = Object.assign({}, first, this.#fields, last)
    if (this.#cookies.length === 0) return fields
    return [...Object.entries(fields), ...this.#cookies.map((value): [string, string] => ['set-cookie', value])]
  }

  addTo(headers: Headers): void {
    for (const [name, value] of Object.entries(this.#fields)) headers.set(name, value)
    for (const value of this.#cookies) headers.append('set-cookie', value)
  }
}
