/** Headers of a reply while it is made. A cookie is appended; any other name is set once, the last value counts. */
export class ReplyHeaders {
  /** Names and values in turn, as Node writes them. */
  readonly #fields: string[] = []

  set(name: string, value: string): void {
    for (let at = 0; at < this.#fields.length; at += 2) {
      if (this.#fields[at] !== name) continue
      this.#fields[at + 1] = value
      return
    }
    this.#fields.push(name, value)
  }

  appendCookie(value: string): void {
    this.#fields.push('set-cookie', value)
  }

  /** Names and values in turn: the reply's own, these, and of the fixed ones those that the reply does not set. */
  with(own: Readonly<Record<string, string>>, fixed: Readonly<Record<string, string>>): string[] {
    const all: string[] = []
    for (const name in own) all.push(name, own[name] ?? '')
    for (const field of this.#fields) all.push(field)
    for (const name in fixed) if (own[name] === undefined) all.push(name, fixed[name] ?? '')
    return all
  }
}
