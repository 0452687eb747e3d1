#!/usr/bin/env node
import { runCommand } from './run-command.js'
import { createTerminal } from './terminal/create-terminal.js'

// A reader that has seen enough, such as `head`, closes its end: the rest of the output is lost, and the result stands.
for (const output of [process.stdout, process.stderr]) {
  output.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
}

process.exitCode = await runCommand(process.argv.slice(2), createTerminal(process.stdout, process.stderr))
