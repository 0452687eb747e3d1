/**
 * What to do when a script fails, by the code of the system or by the step. The scripts run before anything is built,
 * so they cannot use the table of the command line.
 */
export const FIXES = {
  EACCES: 'change the permissions of the folder, or copy it to a folder of your own',
  EROFS: 'the file system is read-only: copy the folder to a place you can write to',
  ENOSPC: 'the disk is full: free some space and try again',
  node: 'install Node 20.19 or later, see https://nodejs.org',
  npm: 'install npm, which comes with Node',
  install: 'npm names the cause above, such as no network, a full disk or missing permissions',
  frameworks: 'npm names the cause above; node scripts/frameworks.mjs tries again',
  'framework types': 'the compiler names the file and line above; an adapter must fit the types of its framework',
  compile: 'the compiler names the file and line above',
  lint: 'npm run fix corrects most of it',
  chromium: 'install Chromium, or set CHROMIUM_PATH to its path',
  tests: 'npx vitest run --project NAME FILE runs one file again; a random test repeats with the seed it printed above',
  packed: 'node scripts/packed.mjs --keep keeps the folder for you to look at',
  start: 'run `npm start` in another terminal, wait until it prints its address, then try again',
}

/** Ends the script with a message for a person. */
export function fail(script, problem, fix) {
  process.stderr.write(`\n${script}: ${problem}\nWhat to do: ${fix}\n`)
  process.exit(1)
}
