import { Readable } from 'node:stream';
import test from 'ava';
import { Registry } from 'prom-client';
import { createObjectMetrics } from '../../../foundation/objects/object-space.ts';
import { manualClock } from '../../../testing/manual-clock.ts';
import { freshFolder, openForTest } from './open-for-test.ts';

test('operations are counted by how they ended, and timed', async (t) => {
  const registry = new Registry();
  const clock = manualClock();
  const { objects } = await openForTest(t, `file:${await freshFolder(t)}`, {
    clock,
    observe: createObjectMetrics(registry),
  });
  const space = objects.forTenant('acme');
  await space.put('a', 'x');
  await t.throwsAsync(space.put('a', 'x', { ifAbsent: true }));
  await t.throwsAsync(space.put('../a', 'x'));
  await space.head('a');
  await space.head('b');
  await space.text('a', 1);
  await space.delete('a');
  await space.delete('a');
  await space.list('');
  await space.deleteAll('');
  const { objects: none } = await openForTest(t, 'none', { observe: createObjectMetrics(new Registry()) });
  await t.throwsAsync(none.forTenant('acme').head('a'));
  const text = await registry.metrics();
  for (const line of [
    '{operation="put",result="ok"} 1',
    '{operation="put",result="refused"} 2',
    '{operation="head",result="ok"} 1',
    '{operation="head",result="missing"} 1',
    '{operation="get",result="ok"} 1',
    '{operation="delete",result="ok"} 1',
    '{operation="delete",result="missing"} 1',
    '{operation="list",result="ok"} 1',
    '{operation="delete_all",result="ok"} 1',
  ]) {
    t.true(text.includes(`svc_objects_operations_total${line}\n`), line);
  }
  t.true(text.includes('svc_objects_seconds_count{operation="put"} 3\n'));
});

test('a failed store is told apart from a failed body', async (t) => {
  const results: string[] = [];
  const observe = (operation: string, result: string) => void results.push(`${operation} ${result}`);
  const { objects: none } = await openForTest(t, 'none', { observe });
  await t.throwsAsync(none.forTenant('acme').head('a'));
  const { objects } = await openForTest(t, `file:${await freshFolder(t)}`, { observe });
  const failing = new Readable({ read: () => void failing.destroy(new Error('broken')) });
  await t.throwsAsync(objects.forTenant('acme').put('a', failing), { message: 'broken' });
  t.deepEqual(results, ['head unavailable', 'put failed']);
});
