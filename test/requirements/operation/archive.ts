import type { Facts } from '../facts.js'

/** What holds of sessions that an operator moves into files. */
export const archive = {
  'archive.round-trip':
    'Sessions that ended before the date leave the database for a file that verifies and holds every row as it was; younger, running and idle ones stay',
  'archive.every-table':
    'Every table that holds rows of a session or workflow is archived with them, or is named as one that has a retention of its own',
  'archive.workflow-whole': 'A workflow is archived with all its sessions, or not at all',
  'archive.nothing-lost':
    'A run that fails once the file is written removes nothing, and the next run archives the same sessions into the same file',
  'archive.full-disk':
    'A disk that fills up while a file is written ends the run at once, with why, and removes nothing',
  'archive.interrupted':
    'An archive run that is killed or loses the database, at any moment, leaves each session whole, in the database or in a file that verifies; the next run finishes it',
  'archive.read-meanwhile':
    'Whoever reads a ledger, its proof or its timeline while it is archived gets all of it, or is told that it was archived; nobody takes it for broken',
  'archive.unchanged-rows-only':
    'A session that is written to, or whose content is erased, while it is archived is not removed as it was before, and no file that holds what was erased is left',
  'archive.leftover-replaced':
    'The file of a killed run, whose sessions were changed or erased before the next run, is gone after that run; a file that a session is in, or that somebody else put there, stays',
  'archive.two-runs': 'Two runs at once archive each session once, and no request waits for them',
  'archive.broken-stays':
    'A session whose ledger does not hold stays in the database and is named; those beside it are archived',
  'archive.changing-stays':
    'A session that changes at every try to archive it stays in the database and is named; those beside it are archived',
  'archive.erased-again':
    'A session of which nothing is left to erase does not change when it is erased again, so that it can be archived meanwhile',
  'archive.tenants-apart':
    'A tenant for which archiving fails is named, with why and how much of it was archived, and the run ends with 1; the others are archived',
  'archive.large-plans':
    'However many large plans the sessions of a tenant have, archiving and verifying them takes the memory of a few',
  'archive.refused': 'A file that was changed, cut off or holds rows of another tenant is refused, with why',
  'archive.answer':
    'A request for an archived session or workflow is answered with when it was archived, and its id is not used again',
  'archive.signed-heads': 'The signing of heads takes an archived ledger for no removed one',
} as const satisfies Facts
