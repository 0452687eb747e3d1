/** True when the frameworks of the lockfile are in place. */
export function frameworksAreInstalled(): boolean
/** False when npm failed; it has said why. */
export function installFrameworks(): boolean
