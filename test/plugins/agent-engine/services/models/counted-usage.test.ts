import test from 'ava';
import type { Usage } from '../../../../../plugins/agent-engine/contract.ts';
import { countedUsage } from '../../../../../plugins/agent-engine/services/models/openai-answer.ts';

const usage = (prompt: unknown, completion: unknown) =>
  ({ prompt_tokens: prompt, completion_tokens: completion, total_tokens: 1 }) as Usage;

for (const given of [undefined, null, usage(0, 0), usage(10, 5), usage(2 ** 31 - 1, 0)]) {
  test(`${JSON.stringify(given)} stays as it is`, (t) => t.is(countedUsage(given), given));
}

for (const given of [
  usage(-5, 1),
  usage(1, -5),
  usage(1.5, 1),
  usage(1, null),
  usage('10', 5),
  usage(Number.NaN, 5),
  usage(10, 1e300),
  usage(2 ** 31, 1),
  {} as Usage,
  'usage' as unknown as Usage,
]) {
  test(`${JSON.stringify(given)} does not count`, (t) => t.is(countedUsage(given), undefined));
}
