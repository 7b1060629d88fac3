import { defineKind } from 'agent-gateway';
import Type, { type Static } from 'typebox';

const Rule = Type.Object({
  pattern: Type.String({
    minLength: 1,
    maxLength: 500,
    description: 'A regular expression; upper and lower case are the same',
  }),
  action: Type.Enum(['refuse', 'redact']),
  longest: Type.Integer({
    minimum: 1,
    maximum: 1000,
    default: 100,
    description: 'Characters of the longest match',
  }),
});

/** The rules of one resource, and the tenants that they are for; absent: all. */
const RuleSetSpec = Type.Object({
  tenants: Type.Optional(Type.Array(Type.String({ format: 'uuid' }))),
  rules: Type.Array(Rule, { minItems: 1, maxItems: 100 }),
});
export type RuleSet = Static<typeof RuleSetSpec>;

/** `kind: ModerationRules` in agents.d. A file with a mistake keeps its last good version; the log names the line. */
export const rulesKind = defineKind({
  kind: 'ModerationRules',
  summary: 'What chats may not hold',
  spec: RuleSetSpec,
  check: ({ spec }) =>
    spec.rules.flatMap(({ pattern }, index) => {
      const message = problemOf(pattern);
      return message === undefined ? [] : [{ pointer: `/spec/rules/${index}/pattern`, message }];
    }),
  build: ({ spec }) => spec,
});

function problemOf(pattern: string): string | undefined {
  // Patterns are joined, which would give the groups other numbers.
  if (/\\[1-9]|\(\?</.test(pattern)) return 'may have no back references, names of groups and lookbehinds';
  try {
    new RegExp(pattern);
    return undefined;
  } catch {
    return 'is no regular expression';
  }
}
