/** An empty cell: a stroke to see, a word to hear. */
export const None = () => (
  <span className="quiet">
    <span aria-hidden="true">–</span>
    <span className="visually-hidden">none</span>
  </span>
)
