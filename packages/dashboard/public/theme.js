// Runs before the first paint, so that a chosen theme never flashes the other one. src/theme.ts writes the choice.
try {
  const theme = localStorage.getItem('countersign.theme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {
  // Storage may be refused; then the system's choice holds.
}
