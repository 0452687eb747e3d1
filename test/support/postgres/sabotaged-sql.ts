/** A function of `sql/functions` as `npm run sabotage` has changed it, on the way here; nothing otherwise. */
export const SABOTAGED_SQL = ''
