import { parseArgs } from 'node:util'
import { FILE_NAMES, fileSchema } from '@countersign/protocol'
import { type Command, UsageError } from '../terminal/command.js'

export const schema: Command = {
  usage: ['schema [contract|session|test]'],
  summary: 'print the JSON Schema of a contract, of session.yaml or of stories; of all three without a name',
  help: () =>
    [
      'An editor with yaml-language-server checks and completes a file that begins with its schema:',
      '  # yaml-language-server: $schema=../node_modules/@countersign/protocol/schemas/contract.schema.json',
      'The path is relative to the file. Without the package, save the schema beside the contracts, under a name with a',
      'dot in front, so that it is not read as one: countersign schema contract > contracts/.contract.schema.json',
      'The schema says what a file may contain. Whether the rules fit together, countersign compile says.',
    ].join('\n'),
  run: async (args, { print }) => {
    const { positionals } = parseArgs({ args: [...args], options: {}, allowPositionals: true })
    const [given, ...rest] = positionals
    const name = FILE_NAMES.find((known) => known === given)
    if (rest.length > 0 || (given !== undefined && name === undefined))
      throw new UsageError(`expected one of ${FILE_NAMES.join(', ')}, or nothing for all`)
    const schemas = Object.fromEntries(FILE_NAMES.map((each) => [each, fileSchema(each)]))
    print(JSON.stringify(name === undefined ? schemas : schemas[name], null, 2))
    return 0
  },
}
