/**
 * Where our JSON Schema differs from the 2020-12 suite, and why. Every difference refuses more than the standard does,
 * most of them when a contract is compiled; none accepts what the standard refuses.
 */
export const JSON_SCHEMA_EXCEPTIONS: readonly SchemaException[] = [
  {
    reason: 'a reference is never fetched',
    shows: /leads to no schema of this document/,
    files: {
      'defs.json': ['validate definition against metaschema'],
      'dynamicRef.json': [
        'tests for implementation dynamic anchor and reference link',
        '$ref and $dynamicAnchor are independent of order - $defs first',
        '$ref and $dynamicAnchor are independent of order - $ref first',
        '$ref to $dynamicRef finds detached $dynamicAnchor',
        'A $ref to a $dynamicAnchor in the same schema resource behaves like a normal $ref to an $anchor',
      ],
      'ref.json': ['remote ref, containing refs itself'],
      'refRemote.json': [
        'remote ref',
        'fragment within remote ref',
        'anchor within remote ref',
        'ref within remote ref',
        'base URI change',
        'base URI change - change folder',
        'base URI change - change folder in subschema',
        'root ref in remote ref',
        'remote ref with ref to defs',
        'Location-independent identifier in remote ref',
        'retrieved nested refs resolve relative to their URI not $id',
        'remote HTTP ref with different $id',
        'remote HTTP ref with different URN $id',
        'remote HTTP ref with nested absolute ref',
        '$ref to $ref finds detached $anchor',
      ],
    },
  },
  {
    reason: '$dynamicRef and $dynamicAnchor are not supported',
    shows: /"\$dynamic(Ref|Anchor)" is not supported/,
    files: {
      'dynamicRef.json': [
        'A $dynamicRef to a $dynamicAnchor in the same schema resource behaves like a normal $ref to an $anchor',
        'A $dynamicRef to an $anchor in the same schema resource behaves like a normal $ref to an $anchor',
        'A $dynamicRef resolves to the first $dynamicAnchor still in scope that is encountered when the schema is evaluated',
        'A $dynamicRef without anchor in fragment behaves identical to $ref',
        "A $dynamicRef with intermediate scopes that don't include a matching $dynamicAnchor does not affect dynamic scope resolution",
        'An $anchor with the same name as a $dynamicAnchor is not used for dynamic scope resolution',
        'A $dynamicRef without a matching $dynamicAnchor in the same schema resource behaves like a normal $ref to $anchor',
        'A $dynamicRef with a non-matching $dynamicAnchor in the same schema resource behaves like a normal $ref to $anchor',
        'A $dynamicRef that initially resolves to a schema with a matching $dynamicAnchor resolves to the first $dynamicAnchor in the dynamic scope',
        'A $dynamicRef that initially resolves to a schema without a matching $dynamicAnchor behaves like a normal $ref to $anchor',
        'multiple dynamic paths to the $dynamicRef keyword',
        'after leaving a dynamic scope, it is not used by a $dynamicRef',
        'strict-tree schema, guards against misspelled properties',
        '$dynamicRef points to a boolean schema',
        '$dynamicRef skips over intermediate resources - direct reference',
        '$dynamicRef avoids the root of each schema, but scopes are still registered',
      ],
      'unevaluatedItems.json': ['unevaluatedItems with $dynamicRef'],
      'unevaluatedProperties.json': ['unevaluatedProperties with $dynamicRef'],
    },
  },
  {
    reason: 'a keyword without effect is a mistake',
    shows: /no effect|nothing is valid/,
    files: {
      'if-then-else.json': [
        'ignore if without then or else',
        'ignore then without if',
        'ignore else without if',
        'non-interference across combined schemas',
      ],
      'maxContains.json': ['maxContains without contains is ignored'],
      'minContains.json': ['minContains without contains is ignored', 'maxContains < minContains', 'minContains = 0'],
      'ref.json': ['ref to if', 'ref to then', 'ref to else'],
      'unevaluatedItems.json': [
        'unevaluatedItems and contains interact to control item dependency relationship',
        'unevaluatedItems can see annotations from if without then and else',
        'unevaluatedItems with minContains = 0',
      ],
      'unevaluatedProperties.json': ['unevaluatedProperties can see annotations from if without then and else'],
    },
  },
  {
    reason: 'an enum without values is a mistake',
    shows: /"enum" must be a list with at least one value/,
    files: {
      'enum.json': ['empty enum'],
    },
  },
  {
    reason: 'schemas and values are I-JSON: integers up to 2^53 - 1',
    shows: /2\^53/,
    files: {
      'const.json': ['float and integers are equal up to 64-bit representation limits'],
    },
  },
  {
    reason: 'schemas and values are I-JSON: no prototype keys',
    shows: /__proto__/,
    files: {
      'properties.json': ['properties whose names are Javascript object property names'],
    },
  },
  {
    reason: 'RE2 knows the properties of Unicode by their short names',
    shows: /\\p\{Letter\}/,
    files: {
      'pattern.json': ['pattern with Unicode property escape requires unicode mode'],
      'patternProperties.json': ['patternProperties with Unicode property escape'],
    },
  },
  {
    reason: 'other dialects are refused',
    shows: /\$schema must be/,
    files: {
      'vocabulary.json': [
        'schema that uses custom metaschema with with no validation vocabulary',
        'ignore unrecognized optional vocabulary',
      ],
    },
  },
  {
    reason: 'these formats are checked, not only noted',
    shows: /^accepts less$/,
    files: {
      'format.json': ['email format', 'date format', 'date-time format', 'uri format', 'uuid format'],
    },
  },
]

export interface SchemaException {
  readonly reason: string
  /** What the refusal or the wrong verdict says. */
  readonly shows: RegExp
  /** The groups of each file. */
  readonly files: Readonly<Record<string, readonly string[]>>
}
