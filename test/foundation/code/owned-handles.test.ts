import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import test from 'ava';
import { ownHandles } from '../../../foundation/code/owned-handles.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

test('intervals that have ended are let go while many others are begun, and those that go on are ended', async (t) => {
  const handles = ownHandles(import.meta.dirname);
  const begun: WeakRef<NodeJS.Timeout>[] = [];
  handles.run(() => {
    begun.push(new WeakRef(setInterval(() => {}, 7_000)));
    for (let count = 0; count < 2_000; count += 1) {
      const timer = setInterval(() => {}, 8_000);
      clearInterval(timer);
      if (count < 100) begun.push(new WeakRef(timer));
    }
  });
  // A WeakRef that was made or read keeps its object until the end of the turn.
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  t.is(begun.filter((timer) => timer.deref() !== undefined).length, 1);
  t.regex(handles.end().join(), /^an interval of 7000 ms was left \(owned-handles\.test\.ts:\d+\)$/);
  t.deepEqual(handles.end(), []);
});
