import test from 'ava';
import { didYouMean, nearestName } from '../../../foundation/base/nearest-name.ts';

const known = ['max_steps', 'drainTimeout', 'enabled'];
const cases: [string, string | undefined][] = [
  ['max_step', 'max_steps'],
  ['maxSteps', 'max_steps'],
  ['drain_timeout', 'drainTimeout'],
  ['enabeld', 'enabled'],
  ['colour', undefined],
  ['x', undefined],
  ['e'.repeat(100_000), undefined],
];
for (const [wrong, meant] of cases) {
  test(`"${wrong.slice(0, 20)}" probably means ${meant ?? 'nothing known'}`, (t) =>
    t.is(nearestName(wrong, known), meant));
}

const spec = ['provider', 'model', 'base_url', 'api_key', 'max_retries', 'max_tokens'];
for (const [wrong, said] of [
  ['url', ', did you mean base_url?'],
  ['apiUrl', ''],
  ['llm_model', ', did you mean model?'],
  ['LLMModel', ''],
  ['max', ''],
  ['tokens', ', did you mean max_tokens?'],
  ['ap', ''],
  ['', ''],
] as const) {
  test(`"${wrong}" among members${said === '' ? ' means nothing known' : said}`, (t) =>
    t.is(didYouMean(wrong, spec), said));
}
