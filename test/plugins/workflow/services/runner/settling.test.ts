import test from 'ava';
import pino from 'pino';
import type { Verdict } from '../../../../../plugins/workflow/services/core/commands.ts';
import type { RunState } from '../../../../../plugins/workflow/services/core/state.ts';
import { NO_OBSERVER } from '../../../../../plugins/workflow/services/ports/runner-observer.ts';
import type { Effect } from '../../../../../plugins/workflow/services/runner/effect.ts';
import { type Answer, Asker, type Entry } from '../../../../../plugins/workflow/services/runner/entry.ts';
import { settle } from '../../../../../plugins/workflow/services/runner/settling.ts';
import { ManualTime } from './manual-timers.ts';

const state = { tenantId: 'tenant', id: 'run' } as RunState;
const fence = { stepId: 'step', attempt: 1, delivery: 1 };
const effect = { fence } as Effect;
const none = { arrived: 0, conflicts: 0, rejections: 0 };
const succeeded: Entry = { occurrence: { type: 'succeeded', fence, output: {} }, effect, ...none };
const released: Entry = { occurrence: { type: 'released', fence }, effect, ...none };

/** What is heard of the end of an entry. */
function heard(entry: Entry, verdict: Verdict) {
  const settled: Effect[] = [];
  const log: unknown[] = [];
  let late = 0;
  const observer = {
    ...NO_OBSERVER,
    late: () => {
      late += 1;
    },
  };
  const core = { observer, log: pino({}, { write: (line) => void log.push(JSON.parse(line)) }) };
  settle(core, { settled: (one) => void settled.push(one) }, entry, { state, verdict });
  return { settled, late, log };
}

test('whoever asked is told what came of it', async (t) => {
  const time = new ManualTime();
  const asker = new Asker<Answer | undefined>(time.timers());
  const entry: Entry = { occurrence: { type: 'cancel', by: 'anna' }, asker, ...none };
  t.deepEqual(heard(entry, 'unchanged'), { settled: [], late: 0, log: [] });
  t.deepEqual(await asker.answer, { state, verdict: 'unchanged' });
  t.is(time.waiting, 0);
});

test('a result leaves the hand, stored or late; late ones are counted', (t) => {
  t.deepEqual(heard(succeeded, 'applied'), { settled: [effect], late: 0, log: [] });
  t.deepEqual(heard(succeeded, 'unchanged'), { settled: [effect], late: 1, log: [] });
});

test('what is given back is no late result', (t) => {
  t.deepEqual(heard(released, 'unchanged'), { settled: [effect], late: 0, log: [] });
});

test('a failure that was stored in the place of a result is logged with the step', (t) => {
  const { occurrence } = succeeded;
  const { log } = heard({ ...succeeded, original: { occurrence, also: undefined } }, 'applied');
  t.is(log.length, 1);
  t.like(log[0], { tenant_id: 'tenant', run_id: 'run', step_id: 'step' });
});
