import test from 'ava';
import fc from 'fast-check';
import { FairSlots, WaitingRuns } from '../../../../../plugins/workflow/services/runner/fair-slots.ts';

/** Tenants with chains of steps, on places alone: every step takes one turn, and what is under way ends in the order of `ends`. */
function work(capacity: number, chains: readonly (readonly number[])[], ends: readonly number[]) {
  const places = new FairSlots(capacity);
  const waiting = new WaitingRuns();
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
      const tenantId = places.next(waiting.tenants());
      const place = tenantId === undefined ? undefined : waiting.take(tenantId);
      if (place === undefined) return;
      places.take(place.tenantId, 1);
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
    steps.push({ taken: places.taken, waits: waiting.size });
    const [place] = running.splice((ends[turn % ends.length] ?? 0) % running.length, 1);
    const { tenantId, runId } = place!;
    places.giveBack(tenantId, 1);
    if (left.get(runId)! > 0) {
      if (places.roomFor(tenantId, waiting.tenants()) > 0) {
        places.take(tenantId, 1);
        begin(place!);
      } else waiting.add(place!);
    }
    fill();
  }
  return { steps, begun, left: [...left.values()], places };
}

const chainsOfTenants = fc.array(fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 8 }), {
  minLength: 1,
  maxLength: 6,
});
const ends = fc.array(fc.nat(50), { minLength: 1, maxLength: 20 });

test('there are never more steps under way than places, and never a free place while somebody waits', (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9 }), chainsOfTenants, ends, (capacity, chains, order) => {
      const { steps, left, places } = work(capacity, chains, order);
      for (const { taken, waits } of steps) {
        if (taken > capacity) throw new Error(`${taken} of ${capacity} places are taken`);
        if (waits > 0 && taken < capacity) throw new Error('a place is free although somebody waits');
      }
      if (left.some((steps) => steps > 0)) throw new Error('a run was forgotten');
      if (places.taken !== 0) throw new Error('a place was lost');
    }),
  );
  t.pass();
});

test('no tenant waits while another one with as many places gets more than one turn', (t) => {
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

test('a tenant that is alone has all places', (t) => {
  const places = new FairSlots(8);
  t.is(places.roomFor('one', []), 8);
  t.is(places.roomFor('one', ['one']), 8);
  places.take('one', 8);
  t.is(places.free, 0);
  t.is(places.next(['one']), undefined);
});

test('a tenant takes no more while another one waits that has no more than it', (t) => {
  const places = new FairSlots(8);
  places.take('one', 3);
  t.is(places.roomFor('one', ['two']), 0);
  t.is(places.roomFor('two', ['one']), 3);
  places.take('two', 3);
  t.is(places.roomFor('one', ['two']), 0);
  t.is(places.next(['one', 'two']), 'one');
  places.take('one', 1);
  t.is(places.next(['one', 'two']), 'two');
});

test('a place that was given back is there again', (t) => {
  const places = new FairSlots(2);
  places.take('one', 2);
  places.giveBack('one', 1);
  t.is(places.heldBy('one'), 1);
  t.is(places.free, 1);
  places.giveBack('one', 1);
  t.is(places.heldBy('one'), 0);
  t.is(places.taken, 0);
});
