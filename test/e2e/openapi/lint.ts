import { createConfig, lintFromString } from '@redocly/openapi-core';

/** Rules beside those that are recommended. */
const RULES = {
  'no-invalid-media-type-examples': { severity: 'error', allowAdditionalProperties: false },
  'no-invalid-schema-examples': 'error',
  'no-invalid-parameter-examples': 'error',
  'no-unused-components': 'error',
  'nullable-type-sibling': 'error',
  'operation-description': 'error',
  // Where a gateway is, and who runs it, its document does not know.
  'no-empty-servers': 'off',
  'info-license': 'off',
  // `/v1/models/{id}` and `/v1/models/page` are told apart: what is written out comes first.
  'no-ambiguous-paths': 'off',
  // Pages are for everybody, and have no limit.
  'operation-4xx-response': 'off',
} as const;

/** What a linter says of a document: the rule that is broken, and where. */
export async function lint(document: unknown): Promise<readonly (readonly [rule: string, where: string])[]> {
  const config = await createConfig({ extends: ['recommended-strict'], rules: RULES });
  const problems = await lintFromString({
    source: JSON.stringify(document),
    absoluteRef: 'openapi.json',
    config,
  });
  return problems.map(({ ruleId, message, location }) => [ruleId, `${location[0]?.pointer}: ${message}`]);
}
