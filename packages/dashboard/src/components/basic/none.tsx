/** An empty cell: a dash on screen, a word for screen readers. */
export const None = () => (
  <span className="quiet">
    <span aria-hidden="true">–</span>
    <span className="visually-hidden">none</span>
  </span>
)
