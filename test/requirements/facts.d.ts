/** What the specification says, by id, each in a sentence that a test can prove or refute. An id never changes. */
export type Facts = Readonly<Record<string, string>>;
