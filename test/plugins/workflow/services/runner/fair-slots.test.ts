import test from 'ava';
import fc from 'fast-check';
import { FairSlots, WaitingRuns } from '../../../../../plugins/workflow/services/runner/fair-slots.ts';

/**
 * Tenants with chains of steps, on slots alone: every step takes one turn, and what is under way ends in the order of
 * `ends`.
 */
function work(capacity: number, chains: readonly (readonly number[])[], ends: readonly number[]) {
  const waiting = new WaitingRuns();
  const slots = new FairSlots(capacity, waiting);
  const left = new Map<string, number>();
  const running: { tenantId: string; runId: string }[] = [];
  const begun: string[] = [];
  const begin = (place: { tenantId: string; runId: string }) => {
    running.push(place);
    begun.push(place.tenantId);
    left.set(place.runId, left.get(place.runId)! - 1);
  };
  const fill = () => {
    for (;;) {
      const tenantId = slots.next();
      const place = tenantId === undefined ? undefined : waiting.take(tenantId);
      if (place === undefined) return;
      slots.take(place.tenantId, 1);
      begin(place);
    }
  };
  for (const [tenant, lengths] of chains.entries()) {
    for (const [run, length] of lengths.entries()) {
      left.set(`${tenant}-${run}`, length);
      waiting.add({ tenantId: `tenant-${tenant}`, runId: `${tenant}-${run}` });
    }
  }
  const steps: { readonly taken: number; readonly waits: number }[] = [];
  fill();
  for (let turn = 0; running.length > 0; turn += 1) {
    steps.push({ taken: slots.taken, waits: waiting.size });
    const [place] = running.splice((ends[turn % ends.length] ?? 0) % running.length, 1);
    const { tenantId, runId } = place!;
    slots.giveBack(tenantId, 1);
    if (left.get(runId)! > 0) {
      if (slots.roomFor(tenantId) > 0) {
        slots.take(tenantId, 1);
        begin(place!);
      } else waiting.add(place!);
    }
    fill();
  }
  return { steps, begun, left: [...left.values()], slots };
}

const chainsOfTenants = fc.array(fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 8 }), {
  minLength: 1,
  maxLength: 6,
});
const ends = fc.array(fc.nat(50), { minLength: 1, maxLength: 20 });

test('there are never more steps under way than slots, and never a free slot while somebody waits', (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9 }), chainsOfTenants, ends, (capacity, chains, order) => {
      const { steps, left, slots } = work(capacity, chains, order);
      for (const { taken, waits } of steps) {
        if (taken > capacity) throw new Error(`${taken} of ${capacity} slots are taken`);
        if (waits > 0 && taken < capacity) throw new Error('a slot is free although somebody waits');
      }
      if (left.some((steps) => steps > 0)) throw new Error('a run was forgotten');
      if (slots.taken !== 0) throw new Error('a slot was lost');
    }),
  );
  t.pass();
});

test('no tenant waits while another one with as many slots gets more than one turn', (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 2, max: 6 }), (capacity, tenants) => {
      // All have work without end, in chains, and the oldest step ends first.
      const { begun } = work(
        capacity,
        Array.from({ length: tenants }, () => Array(12).fill(6)),
        [0],
      );
      const shared = begun.slice(0, tenants * 40);
      for (let from = 0; from + tenants * 2 <= shared.length; from += 1) {
        const window = new Set(shared.slice(from, from + tenants * 2));
        if (window.size < tenants)
          throw new Error(`somebody is missing: ${shared.slice(from, from + tenants * 2)}`);
      }
    }),
  );
  t.pass();
});

/** Slots, and the tenants that wait for one. */
function setUp(capacity: number) {
  const waiting = new Set<string>();
  return { waiting, slots: new FairSlots(capacity, { tenants: () => waiting }) };
}

test('a tenant that is alone has all slots', (t) => {
  const { waiting, slots } = setUp(8);
  t.is(slots.roomFor('one'), 8);
  waiting.add('one');
  t.is(slots.roomFor('one'), 8);
  slots.take('one', 8);
  t.is(slots.free, 0);
  t.is(slots.next(), undefined);
});

test('a tenant takes no more while another one waits that has no more than it', (t) => {
  const { waiting, slots } = setUp(8);
  slots.take('one', 3);
  waiting.add('two');
  t.is(slots.roomFor('one'), 0);
  waiting.clear();
  waiting.add('one');
  t.is(slots.roomFor('two'), 3);
  slots.take('two', 3);
  waiting.add('two');
  t.is(slots.roomFor('one'), 0);
  t.is(slots.next(), 'one');
  slots.take('one', 1);
  t.is(slots.next(), 'two');
});

test('a slot that was given back is there again', (t) => {
  const { slots } = setUp(2);
  slots.take('one', 2);
  slots.giveBack('one', 1);
  t.is(slots.heldBy('one'), 1);
  t.is(slots.free, 1);
  slots.giveBack('one', 1);
  t.is(slots.heldBy('one'), 0);
  t.is(slots.taken, 0);
});

const placeOf = (tenantId: string, runId: string) => ({ tenantId, runId });

test('runs of a tenant wait in order, each once', (t) => {
  const list = new WaitingRuns();
  list.add(placeOf('one', 'a'));
  list.add(placeOf('one', 'b'));
  t.true(list.add(placeOf('one', 'a')));
  t.is(list.size, 2);
  t.is(list.take('one')?.runId, 'a');
  t.is(list.take('one')?.runId, 'b');
  t.is(list.take('one'), undefined);
  t.is(list.size, 0);
});

test('a tenant that was served comes last', (t) => {
  const list = new WaitingRuns();
  for (const tenant of ['one', 'two', 'three']) {
    list.add(placeOf(tenant, `${tenant}-a`));
    list.add(placeOf(tenant, `${tenant}-b`));
  }
  list.take('one');
  t.deepEqual([...list.tenants()], ['two', 'three', 'one']);
});

test('a list that one tenant has filled has room for others', (t) => {
  const list = new WaitingRuns(4);
  for (const run of ['a', 'b', 'c', 'd']) t.true(list.add(placeOf('flood', run)));
  t.false(list.add(placeOf('flood', 'e')));
  t.false(list.add(placeOf('small', 'x')));
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
  list.add(placeOf('one', 'a'));
  list.add(placeOf('two', 'b'));
  t.false(list.add(placeOf('three', 'c')));
  t.deepEqual([...list.tenants()], ['one', 'two']);
});
