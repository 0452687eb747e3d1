/** The current value of a custom property; a canvas cannot read it. */
export function resolvedColor(property: string, within: HTMLElement): string {
  const probe = document.createElement('span')
  probe.style.color = `var(${property})`
  probe.hidden = true
  within.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}
