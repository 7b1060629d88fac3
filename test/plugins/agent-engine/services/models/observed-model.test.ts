import test from 'ava';
import { systemClock } from '../../../../../foundation/base/clock.ts';
import {
  type ChatChunk,
  type ModelClient,
  ModelErrors,
} from '../../../../../plugins/agent-engine/contract.ts';
import { observeModel } from '../../../../../plugins/agent-engine/services/models/observed-model.ts';
import { ask, collect, context } from './calls.ts';

const usage = (total: number) => ({ prompt_tokens: 1, completion_tokens: total - 1, total_tokens: total });
const chunk = (total?: number): ChatChunk => ({
  id: 'x',
  object: 'chat.completion.chunk',
  created: 0,
  model: 'm',
  choices: [],
  ...(total !== undefined && { usage: usage(total) }),
});

/** A model whose stream takes a second before each item; an Error among them is thrown. */
function observed(items: readonly (ChatChunk | Error)[]) {
  let time = 0;
  const seen: unknown[][] = [];
  const client: ModelClient = {
    async complete() {
      time += 2000;
      throw ModelErrors.timeout();
    },
    async *stream() {
      for (const item of items) {
        time += 1000;
        if (item instanceof Error) throw item;
        yield item;
      }
    },
  };
  const observer = {
    request: (...args: unknown[]) => void seen.push(['request', ...args]),
    tokens: (...args: unknown[]) => void seen.push(['tokens', ...args]),
    firstByte: (...args: unknown[]) => void seen.push(['firstByte', ...args]),
  };
  return { model: observeModel(client, 'label', observer, { ...systemClock, monotonic: () => time }), seen };
}

test('a stream is measured: first chunk, last usage, whole time', async (t) => {
  const { model, seen } = observed([chunk(), chunk(3), chunk(5)]);
  t.is((await collect(model.stream(ask(), context()))).length, 3);
  t.deepEqual(seen, [
    ['firstByte', 'label', 1],
    ['tokens', 'label', usage(5)],
    ['request', 'label', 'ok', 3],
  ]);
});

test('a stream that is left early counts as aborted, one that fails by its code', async (t) => {
  const left = observed([chunk(), chunk()]);
  for await (const _ of left.model.stream(ask(), context())) break;
  t.deepEqual(left.seen.at(-1), ['request', 'label', 'aborted', 1]);
  const failed = observed([chunk(), ModelErrors.rateLimited()]);
  await t.throwsAsync(collect(failed.model.stream(ask(), context())), { code: 'model.rate-limited' });
  t.deepEqual(failed.seen.at(-1), ['request', 'label', 'rate-limited', 2]);
});

test('a failing plain call is measured', async (t) => {
  const { model, seen } = observed([]);
  await t.throwsAsync(model.complete(ask(), context()), { code: 'model.timeout' });
  t.deepEqual(seen, [['request', 'label', 'timeout', 2]]);
});
