/** Headers of a reply while it is made: of one name the last value counts, and cookies are appended. */
export interface ReplyHeaders {
  set(name: string, value: string): void
  appendCookie(value: string): void
}

/** Where a reply has no headers of its own. */
export const NO_HEADERS: ReplyHeaders = { set: () => {}, appendCookie: () => {} }
