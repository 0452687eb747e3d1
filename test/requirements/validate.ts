import type { Facts } from './facts.js'

export const validate = {
  'validate.synchronous': 'validate() returns its result and no promise',
  'validate.unmatched-policy.default': 'unmatchedPolicy is deny when not given',
  'validate.unmatched-policy.deny': 'unmatchedPolicy deny fails a tool call without a contract',
  'validate.unmatched-policy.allow': 'unmatchedPolicy allow passes a tool call without a contract',
  'validate.openai': "validate() reads a response in OpenAI's format",
  'validate.anthropic': "validate() reads a response in Anthropic's format",
  'validate.normalized': 'validate() reads a normalized list of calls with id, name and arguments as a JSON string',
  'validate.prepare.directory': "prepareContracts() takes the path of a pack's folder",
  'validate.prepare.files': 'prepareContracts() takes an array of contract files',
  'validate.prepare.objects': 'prepareContracts() takes contract objects',
} satisfies Facts
