import test from 'ava';
import { DatabaseErrors } from '../../../foundation/data/errors.ts';
import type { Family } from '../../../foundation/data/family.ts';
import { createWriteGroups } from '../../../foundation/data/write-groups.ts';

type Store = Parameters<typeof createWriteGroups>[1];

/** A transaction that the groups have begun. */
interface Transaction {
  readonly tenant: string;
  /** Its keys, in the order of their writes. */
  readonly runs: string;
  end(isStored: boolean): Promise<void>;
  fail(error: Error): Promise<void>;
}

/** Lets everything run that is ready. */
const turn = async () => {
  for (let passed = 0; passed < 2; passed += 1) await new Promise((resolve) => setImmediate(resolve));
};

function bench(family: Family = 'postgres') {
  const begun: Transaction[] = [];
  const store: Store = (tenant, writes) =>
    new Promise((resolve, reject) => {
      const runs = writes.map((write) => (write.kind === 'insert' ? write.rows[0]?.id : '')).join(' ');
      begun.push({
        tenant,
        runs,
        end(isStored) {
          resolve(isStored);
          return turn();
        },
        fail(error) {
          reject(error);
          return turn();
        },
      });
    });
  let now = 0;
  const timers: (() => void)[] = [];
  const groups = createWriteGroups(family, store, { now: () => now, after: (_, call) => timers.push(call) });
  /** The time after which a transaction is slow is over, and that between two commits. */
  const later = () => {
    now += 250;
    for (const call of timers.splice(0)) call();
    return turn();
  };
  const outcomes: Record<string, boolean | string> = {};
  /** Writes of runs, which are named by a letter each. */
  const write = async (runs: string, { tenant = 't', text = '' } = {}) => {
    for (const runId of runs) {
      const writes = [{ kind: 'insert' as const, entity: {} as never, rows: [{ id: runId, text }] }];
      groups.write({ tenantId: tenant, key: runId, writes }).then(
        (isStored) => {
          outcomes[runId] = isStored;
        },
        (error: Error) => {
          outcomes[runId] = error.message;
        },
      );
    }
    await turn();
  };
  const next = () => begun.shift() ?? { tenant: '', runs: '', end: turn, fail: turn };
  const waiting = () => begun.map(({ runs }) => runs);
  return { write, next, waiting, outcomes, later };
}

test('who is alone does not wait', async (t) => {
  const { write, next, outcomes } = bench();
  await write('a');
  const { tenant, runs, end } = next();
  t.deepEqual([tenant, runs], ['t', 'a']);
  await end(true);
  t.deepEqual(outcomes, { a: true });
});

test('what is ready at one time is one transaction, in the order of the runs', async (t) => {
  const { write, next, waiting, outcomes } = bench();
  await write('cab');
  const { runs, end } = next();
  t.is(runs, 'a b c');
  t.deepEqual(waiting(), []);
  await end(true);
  t.deepEqual(outcomes, { a: true, b: true, c: true });
});

test('two transactions of a tenant are under way at most; what comes meanwhile shares the next one', async (t) => {
  const { write, next, waiting, outcomes } = bench();
  await write('a');
  await write('b');
  await write('c');
  await write('d');
  t.deepEqual(waiting(), ['a', 'b']);
  await next().end(true);
  t.deepEqual(waiting(), ['b', 'c d']);
  await next().end(true);
  await next().end(true);
  t.deepEqual(outcomes, { a: true, b: true, c: true, d: true });
  await write('e');
  t.deepEqual(waiting(), ['e'], 'it goes on afterwards');
});

test('transactions that take long keep nobody else', async (t) => {
  const { write, next, waiting, outcomes, later } = bench();
  await write('a');
  await write('b');
  await write('c');
  await later();
  t.deepEqual(waiting(), ['a', 'b', 'c']);
  const [a, b, c] = [next(), next(), next()];
  await write('d');
  t.deepEqual(waiting(), ['d'], 'one of two that count');
  await c.end(true);
  await next().end(true);
  await write('e');
  await write('f');
  await write('g');
  t.deepEqual(waiting(), ['e', 'f']);
  await a.end(true);
  await b.end(false);
  t.deepEqual(waiting(), ['e', 'f'], 'what was slow did not count, and makes no room');
  await next().end(true);
  t.deepEqual(waiting(), ['f', 'g']);
  await next().end(true);
  await next().end(true);
  const ended = { a: true, b: false, c: true, d: true, e: true, f: true, g: true };
  t.deepEqual(outcomes, ended);
  await later();
  await write('h');
  await write('i');
  await write('j');
  t.deepEqual(waiting(), ['h', 'i'], 'it counts as before');
});

test('tenants do not share, nor wait for each other', async (t) => {
  const { write, waiting } = bench();
  await write('a');
  await write('b');
  await write('c', { tenant: 'u' });
  t.deepEqual(waiting(), ['a', 'b', 'c']);
});

test('when one of them does not match each is tried alone, and only its own run hears of it', async (t) => {
  const { write, next, waiting, outcomes } = bench();
  await write('abc');
  await next().end(false);
  t.deepEqual(waiting(), ['a', 'b', 'c']);
  await next().end(true);
  await next().end(false);
  await next().end(true);
  t.deepEqual(outcomes, { a: true, b: false, c: true });
});

test('when one of them cannot be stored each is tried alone', async (t) => {
  const { write, next, outcomes } = bench();
  await write('ab');
  await next().fail(new Error('too long'));
  await next().fail(new Error('too long'));
  await next().end(true);
  t.deepEqual(outcomes, { a: 'too long', b: true });
});

test('when the database did not answer nothing is tried again: it may be stored', async (t) => {
  const { write, next, waiting, outcomes } = bench();
  await write('ab');
  await next().fail(DatabaseErrors.unavailable('silent'));
  t.deepEqual(waiting(), []);
  t.deepEqual(outcomes, { a: 'silent', b: 'silent' });
  await write('c');
  t.deepEqual(waiting(), ['c']);
});

test('a transaction holds 32 runs at most', async (t) => {
  const { write, waiting } = bench();
  const runs = Array.from({ length: 70 }, (_, n) => String.fromCharCode(0x100 + n));
  await write(runs.join(''));
  t.deepEqual(
    waiting().map((names) => names.split(' ').length),
    [32, 32],
  );
});

test('what is too large for one transaction goes into the next', async (t) => {
  const { write, next, waiting } = bench();
  const text = 'x'.repeat(700_000);
  await write('a');
  await write('b');
  await write('c', { text });
  await write('d', { text });
  await write('e');
  t.deepEqual(waiting(), ['a', 'b']);
  await next().end(true);
  await next().end(true);
  t.deepEqual(waiting(), ['c', 'd e']);
});

test('SQLite has one writer; what comes meanwhile, or soon after, is committed together', async (t) => {
  const { write, next, waiting, later } = bench('sqlite');
  await write('a');
  await write('b');
  await write('c');
  t.deepEqual(waiting(), ['a']);
  await next().end(true);
  await write('d');
  t.deepEqual(waiting(), [], 'commits have a distance');
  await later();
  t.deepEqual(waiting(), ['b c d']);
});

test('on SQLite one that goes on with what it has just written waits for nobody', async (t) => {
  const { write, next, waiting } = bench('sqlite');
  for (let times = 0; times < 20; times += 1) {
    await write('a');
    t.deepEqual(waiting(), ['a']);
    await next().end(true);
  }
});

test('on MySQL each is a transaction of its own', async (t) => {
  const { write, waiting } = bench('mysql');
  await write('abc');
  t.deepEqual(waiting(), ['a', 'b', 'c']);
});
