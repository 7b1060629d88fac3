import { isDeepStrictEqual } from 'node:util';
import test from 'ava';
import { CREDENTIAL_KINDS } from '../../../../../../plugins/agent-engine/services/guard/redaction/credential-kinds.ts';
import type {
  Pattern,
  Step,
} from '../../../../../../plugins/agent-engine/services/guard/redaction/pattern.ts';
import { createRedaction } from '../../../../../../plugins/agent-engine/services/guard/redaction/redaction.ts';
import { credentialSamples } from './credential-samples.ts';

const { redact } = createRedaction();

test('every kind has samples, a title and a source, and a name of its own', (t) => {
  const sampled = new Set(credentialSamples().map(({ kind }) => kind));
  t.deepEqual([...sampled].sort(), CREDENTIAL_KINDS.map(({ kind }) => kind).sort());
  for (const { kind, title, source } of CREDENTIAL_KINDS) {
    t.regex(kind, /^[a-z0-9]+(-[a-z0-9]+)*$/);
    t.true(title.length > 10, kind);
    t.regex(source, /^https:|^(?:kernel|foundation)\//, kind);
  }
});

for (const kind of new Set(credentialSamples().map((sample) => sample.kind))) {
  test(`${kind}: the credential is replaced, and nothing else`, (t) => {
    for (let seed = 1; seed <= 20; seed += 1) {
      for (const { lead, secret, tail, ...sample } of credentialSamples(seed)) {
        if (sample.kind !== kind) continue;
        const marked = `${lead}[REDACTED:${kind}]${tail}`;
        t.is(redact(lead + secret + tail), marked);
        t.is(redact(`Use ${lead}${secret}${tail}, please.`), `Use ${marked}, please.`);
        t.is(redact(`密钥${lead}${secret}${tail}😀`), `密钥${marked}😀`);
        t.is(redact(`\n"${lead}${secret}${tail}"\n`), `\n"${marked}"\n`);
        t.is(redact(`x\\n${lead}${secret}${tail}\\n`), `x\\n${marked}\\n`);
      }
    }
  });
}

/** The longest text of a pattern of which it is still undecided whether it is a credential. */
function longestUndecided(steps: readonly Step[]): number {
  let length = 0;
  let undecided = 0;
  for (const step of steps) {
    if (step.type === 'through') break;
    const isOptional = step.type === 'run' && step.min === 0;
    // What follows the last step that must be there is part of a credential already.
    if (!isOptional) undecided = length + needed(step);
    length += step.type === 'judged' ? step.limit : step.type === 'unless' ? 0 : step.max;
  }
  return undecided;
}

function needed(step: Step): number {
  if (step.type === 'run') return step.min;
  if (step.type === 'judged') return step.limit;
  return step.type === 'before' ? step.max : 1;
}

/** The steps after those with which another pattern has decided already. */
function undecidedSteps({ prefix, steps, secretFrom }: Pattern, others: readonly Pattern[]): readonly Step[] {
  const decided = others
    .filter((other) => isDeepStrictEqual(other.prefix, prefix) && other.steps.length < steps.length)
    .filter((other) => isDeepStrictEqual(other.steps, steps.slice(0, other.steps.length)))
    .map((other) => other.steps.length);
  return steps.slice(Math.max(0, secretFrom, ...decided));
}

test('no pattern keeps the text waiting for more than 2 KiB and a bit', (t) => {
  for (const { kind, patterns } of CREDENTIAL_KINDS) {
    for (const pattern of patterns) {
      const longest = pattern.prefix.length + longestUndecided(undecidedSteps(pattern, patterns));
      t.true(longest <= 2100, `${kind}: ${longest}`);
    }
  }
});
