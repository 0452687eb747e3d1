import type { Fact } from './fact.js'

export const validate = [
  {
    id: 'validate.synchronous',
    behaviour: 'validate() returns its result and no promise',
    state: 'built',
  },
  {
    id: 'validate.unmatched-policy.default',
    behaviour: 'unmatchedPolicy is deny when not given',
    state: 'built',
  },
  {
    id: 'validate.unmatched-policy.deny',
    behaviour: 'unmatchedPolicy deny fails a tool call without a contract',
    state: 'built',
  },
  {
    id: 'validate.unmatched-policy.allow',
    behaviour: 'unmatchedPolicy allow passes a tool call without a contract',
    state: 'built',
  },
  {
    id: 'validate.openai',
    behaviour: "validate() reads a response in OpenAI's format",
    state: 'built',
  },
  {
    id: 'validate.anthropic',
    behaviour: "validate() reads a response in Anthropic's format",
    state: 'built',
  },
  {
    id: 'validate.normalized',
    behaviour: 'validate() reads a normalized list of calls with id, name and arguments as a JSON string',
    state: 'built',
  },
  {
    id: 'validate.prepare.directory',
    behaviour: "prepareContracts() takes the path of a pack's folder",
    state: 'built',
  },
  {
    id: 'validate.prepare.files',
    behaviour: 'prepareContracts() takes an array of contract files',
    state: 'built',
  },
  {
    id: 'validate.prepare.objects',
    behaviour: 'prepareContracts() takes contract objects',
    state: 'built',
  },
] as const satisfies readonly Fact[]
