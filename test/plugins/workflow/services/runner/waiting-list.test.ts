import test from 'ava';
import { WaitingRuns } from '../../../../../plugins/workflow/services/runner/fair-slots.ts';

const place = (tenantId: string, runId: string) => ({ tenantId, runId });

test('runs of a tenant wait in order, each once', (t) => {
  const list = new WaitingRuns();
  list.add(place('one', 'a'));
  list.add(place('one', 'b'));
  t.true(list.add(place('one', 'a')));
  t.is(list.size, 2);
  t.is(list.take('one')?.runId, 'a');
  t.is(list.take('one')?.runId, 'b');
  t.is(list.take('one'), undefined);
  t.is(list.size, 0);
});

test('a tenant that was served comes last', (t) => {
  const list = new WaitingRuns();
  for (const tenant of ['one', 'two', 'three']) {
    list.add(place(tenant, `${tenant}-a`));
    list.add(place(tenant, `${tenant}-b`));
  }
  list.take('one');
  t.deepEqual([...list.tenants()], ['two', 'three', 'one']);
});

test('a list that one tenant has filled has room for others', (t) => {
  const list = new WaitingRuns(4);
  for (const run of ['a', 'b', 'c', 'd']) t.true(list.add(place('flood', run)));
  t.false(list.add(place('flood', 'e')));
  t.false(list.add(place('small', 'x')));
  t.is(list.size, 4);
  t.is(list.take('small')?.runId, 'x');
  t.deepEqual(
    [list.take('flood'), list.take('flood'), list.take('flood')].map((one) => one?.runId),
    ['a', 'b', 'c'],
  );
  t.is(list.take('flood'), undefined);
});

test('a full list of equals takes nobody in', (t) => {
  const list = new WaitingRuns(2);
  list.add(place('one', 'a'));
  list.add(place('two', 'b'));
  t.false(list.add(place('three', 'c')));
  t.deepEqual([...list.tenants()], ['one', 'two']);
});
