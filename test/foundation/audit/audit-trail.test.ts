import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import test from 'ava';
import fc from 'fast-check';
import type { AuditEntry } from '../../../foundation/audit/audit-entry.ts';
import { DatabaseErrors } from '../../../foundation/data/errors.ts';
import { until } from '../../support/until.ts';
import { entry, FakeSink, startTrail, tempFolder } from './trail-kit.ts';

/** Paths of all files under a directory. */
const filesOf = (directory: string) =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((found) => found.isFile())
    .map((found) => path.join(found.parentPath, found.name));

const recordMany = (record: (entry: AuditEntry) => void, count: number): AuditEntry[] => {
  const entries = Array.from({ length: count }, () => entry());
  for (const one of entries) record(one);
  return entries;
};

test('a record reaches the sink as it was given', async (t) => {
  const sink = new FakeSink();
  const { trail } = startTrail(t, await tempFolder(t), sink);
  const given = entry({ sessionId: 's', sourceIp: '192.0.2.1', detail: { text: 'Ünïcode\n"quoted"' } });
  trail.record(given);
  t.true(await trail.flush(30_000));
  t.deepEqual([...sink.stored.values()], [given]);
});

test('records arrive without being asked for, in batches', async (t) => {
  const sink = new FakeSink();
  const { trail } = startTrail(t, await tempFolder(t), sink, { batchSize: 100, batchDelay: 20 });
  recordMany((one) => trail.record(one), 1_000);
  await until(() => sink.stored.size === 1_000);
  t.deepEqual(
    sink.batches,
    Array.from({ length: 10 }, () => 100),
  );
  trail.record(entry());
  await until(() => sink.stored.size === 1_001);
  await until(() => trail.stats().queued === 0);
  t.like(trail.stats(), { queued: 0, spooledBytes: 0, written: 1_001, batches: 11, failures: 0, lost: 0 });
});

test('a batch begins with few records, takes the multiple of them that waits, and leaves the rest', async (t) => {
  const sink = new FakeSink();
  const few = { batchSize: 50, batchFrom: 10, batchDelay: 60_000 };
  const { trail } = startTrail(t, await tempFolder(t), sink, few);
  recordMany((one) => trail.record(one), 37);
  await until(() => sink.stored.size === 30);
  recordMany((one) => trail.record(one), 3);
  await until(() => sink.stored.size === 40);
  recordMany((one) => trail.record(one), 125);
  await until(() => sink.stored.size === 160);
  t.deepEqual(sink.batches, [30, 10, 50, 50, 20]);
  t.is(trail.stats().queued, 5);
  t.true(await trail.flush(30_000));
  t.is(sink.stored.size, 165);
});

test('a record is in a file of its owner alone when the promise of record resolves', async (t) => {
  const folder = await tempFolder(t);
  const sink = new FakeSink();
  sink.isAway = true;
  const { trail } = startTrail(t, folder, sink);
  const given = entry();
  await trail.record(given);
  const [file, ...others] = filesOf(folder) as [string];
  t.deepEqual(others, []);
  t.is(JSON.parse(readFileSync(file, 'utf8')).id, given.id);
  t.is(statSync(file).mode & 0o777, 0o600);
  t.is(statSync(path.dirname(file)).mode & 0o777, 0o700);
});

test('a sink that is away gets everything once it is back', async (t) => {
  const sink = new FakeSink();
  sink.isAway = true;
  const { trail, log } = startTrail(t, await tempFolder(t), sink, { segmentBytes: 2_000 });
  recordMany((one) => trail.record(one), 500);
  await until(() => trail.stats().failures >= 3);
  t.is(trail.stats().queued, 500);
  sink.isAway = false;
  t.true(await trail.flush(30_000));
  t.is(sink.stored.size, 500);
  // It may come back between a write that failed and the look whether it is the sink's fault.
  t.true(sink.repeated <= 1);
  t.is(log.lines.length, 2, log.lines.join('\n'));
});

test('a sink that does not answer is given up on after its deadline and tried again', async (t) => {
  const sink = new FakeSink();
  sink.hangs = true;
  const { trail } = startTrail(t, await tempFolder(t), sink, { sinkDeadline: 20 });
  recordMany((one) => trail.record(one), 3);
  await until(() => trail.stats().failures >= 1);
  sink.hangs = false;
  t.true(await trail.flush(30_000));
  t.is(sink.stored.size, 3);
});

test('a full journal makes callers wait until there is room', async (t) => {
  const sink = new FakeSink();
  sink.isAway = true;
  const limits = { journalBytes: 20_000, segmentBytes: 4_000, roomDeadline: 10_000 };
  const { trail } = startTrail(t, await tempFolder(t), sink, limits);
  while (trail.room() === undefined) await trail.record(entry());
  const { spooledBytes } = trail.stats();
  t.true(spooledBytes >= 20_000 && spooledBytes < 21_000, `${spooledBytes}`);
  let isAdmitted = false;
  const admitted = trail.room()?.then(() => {
    isAdmitted = true;
  });
  await until(() => trail.stats().failures > 3);
  t.false(isAdmitted);
  sink.isAway = false;
  await admitted;
  t.is(trail.room(), undefined);
});

test('a caller waits for room until its deadline, and only so many do', async (t) => {
  const sink = new FakeSink();
  sink.isAway = true;
  const limits = { journalBytes: 1_000, roomDeadline: 30, maxWaiting: 2 };
  const { trail } = startTrail(t, await tempFolder(t), sink, limits);
  await t.throwsAsync(async () => {
    for (let room = trail.room(); ; room = trail.room()) {
      if (room !== undefined) return room;
      trail.record(entry());
    }
  });
  const waiting = [trail.room(), trail.room()];
  await t.throwsAsync(async () => trail.room(), { message: /2 requests wait already/ });
  for (const wait of waiting) await t.throwsAsync(async () => wait, { message: /still full after 30 ms/ });
  t.is(trail.stats().waiting, 0);
});

test('what nobody waited for is taken up to twice the bound, and what is lost is counted', async (t) => {
  const sink = new FakeSink();
  sink.isAway = true;
  const limits = { journalBytes: 10_000, segmentBytes: 2_000, memoryBytes: 5_000 };
  const { trail, log } = startTrail(t, await tempFolder(t), sink, limits);
  const given = Array.from({ length: 1_000 }, () => entry());
  for (const one of given) await trail.record(one);
  const { lost, queued, spooledBytes } = trail.stats();
  t.is(lost + queued, given.length);
  t.true(lost > 0 && spooledBytes < 21_000);
  t.is(log.lines.filter((line) => line.startsWith('audit record lost')).length, 1);
  sink.isAway = false;
  t.true(await trail.flush(30_000));
  t.is(sink.stored.size, queued);
});

test('close brings everything to the sink and leaves no file', async (t) => {
  const folder = await tempFolder(t);
  const sink = new FakeSink();
  const { trail } = startTrail(t, folder, sink, { batchSize: 10, segmentBytes: 1_000, batchDelay: 60_000 });
  recordMany((one) => trail.record(one), 137);
  await trail.close(5_000);
  t.is(sink.stored.size, 137);
  t.deepEqual(readdirSync(folder), []);
});

test('close ends at its deadline, and the next start finds the rest', async (t) => {
  const folder = await tempFolder(t);
  const [away, back] = [new FakeSink(), new FakeSink()];
  away.hangs = true;
  const first = startTrail(t, folder, away, { segmentBytes: 1_000 }).trail;
  t.teardown(() => away.leave());
  const given = recordMany((one) => first.record(one), 50);
  const start = performance.now();
  await first.close(30);
  t.true(performance.now() - start < 15_000);
  const second = startTrail(t, folder, back).trail;
  t.true(await second.flush(30_000));
  t.deepEqual(
    [...back.stored.keys()],
    given.map(({ id }) => id),
  );
  await second.close(1_000);
  t.deepEqual(readdirSync(folder), []);
});

test('a disk that fails at the end does not break it: the journal keeps its name and its records', async (t) => {
  const folder = await tempFolder(t);
  const sink = new FakeSink();
  sink.isAway = true;
  const { trail, log } = startTrail(t, folder, sink);
  const given = recordMany((one) => trail.record(one), 3);
  const [own] = readdirSync(folder) as [string];
  // No folder takes the place of one that is not empty.
  const inTheWay = path.join(folder, `left.${own.split('.').at(-1)}`, 'file');
  mkdirSync(inTheWay, { recursive: true });
  await trail.close(0);
  t.true(log.lines.some((line) => line.includes('the folder stays as it is')));
  const kept = filesOf(path.join(folder, own)).map((file) => readFileSync(file, 'utf8'));
  t.true(given.every(({ id }) => kept.join('').includes(id)));
});

test('a record after the end is counted as lost, not thrown at the caller', async (t) => {
  const { trail, log } = startTrail(t, await tempFolder(t), new FakeSink());
  await trail.close(1_000);
  t.notThrows(() => trail.record(entry()));
  t.is(trail.stats().lost, 1);
  t.regex(log.lines.join(), /closed/);
});

test('an entry that the database will never take is set aside and the others are written', async (t) => {
  const folder = await tempFolder(t);
  const sink = new FakeSink();
  sink.refuses = ({ action }) => action === 'POISON';
  const { trail, log } = startTrail(t, folder, sink, { batchSize: 64 });
  const bad = [
    entry({ action: 'POISON' }),
    entry({ action: 'POISON' }),
    entry({ action: 'POISON' }),
  ] as const;
  trail.record(bad[0]);
  recordMany((one) => trail.record(one), 100);
  trail.record(bad[1]);
  recordMany((one) => trail.record(one), 100);
  trail.record(bad[2]);
  t.true(await trail.flush(30_000));
  t.is(sink.stored.size, 200);
  t.like(trail.stats(), { written: 200, rejected: 3, queued: 0 });
  const [file] = filesOf(folder).filter((found) => found.endsWith('.rejected')) as [string];
  const kept = readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).id);
  t.deepEqual(kept.sort(), bad.map(({ id }) => id).sort());
  t.is(statSync(file).mode & 0o777, 0o600);
  t.is(log.lines.filter((line) => line.includes('refused')).length, 3);

  t.is(await trail.forgetRejected(new Date(Date.now() - 60_000)), 0, 'it is young');
  t.is(await trail.forgetRejected(new Date(Date.now() + 60_000)), 1);
  t.deepEqual(
    filesOf(folder).filter((found) => found.endsWith('.rejected')),
    [],
  );
});

test('entries that fail while nothing at all can be written are not set aside', async (t) => {
  const sink = new FakeSink();
  const { trail } = startTrail(t, await tempFolder(t), sink);
  trail.record(entry());
  t.true(await trail.flush(30_000));
  sink.refuses = () => true;
  recordMany((one) => trail.record(one), 20);
  await until(() => trail.stats().failures >= 3);
  t.like(trail.stats(), { rejected: 0, queued: 20 });
  sink.refuses = () => false;
  t.true(await trail.flush(30_000));
  t.is(sink.stored.size, 21);
});

test('entries that find no room on a full disk are not set aside, though those that are stored can be written again', async (t) => {
  const sink = new FakeSink();
  const { trail } = startTrail(t, await tempFolder(t), sink);
  trail.record(entry());
  t.true(await trail.flush(30_000));
  sink.refuses = ({ id }) => {
    if (sink.stored.has(id)) return false;
    throw DatabaseErrors.unavailable('The database takes no writes: its disk is full');
  };
  recordMany((one) => trail.record(one), 20);
  await until(() => trail.stats().failures >= 3);
  t.like(trail.stats(), { rejected: 0, queued: 20 });
  sink.refuses = () => false;
  t.true(await trail.flush(30_000));
  t.is(sink.stored.size, 21);
});

test('a lone bad entry at the very beginning does not stop those that follow', async (t) => {
  const sink = new FakeSink();
  sink.refuses = ({ action }) => action === 'POISON';
  const { trail } = startTrail(t, await tempFolder(t), sink);
  trail.record(entry({ action: 'POISON' }));
  await until(() => trail.stats().failures >= 1);
  recordMany((one) => trail.record(one), 5);
  t.true(await trail.flush(30_000));
  t.is(sink.stored.size, 5);
  t.is(trail.stats().rejected, 1);
});

test('an unfinished last line and a damaged one are skipped, told of, and the rest is written', async (t) => {
  const folder = await tempFolder(t);
  const away = new FakeSink();
  away.isAway = true;
  const first = startTrail(t, folder, away).trail;
  recordMany((one) => first.record(one), 10);
  await first.close(0);
  const [file] = filesOf(folder) as [string];
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  lines[4] = '{"id": 12}';
  writeFileSync(file, `${lines.join('\n').slice(0, -25)}`);
  const sink = new FakeSink();
  const { trail, log } = startTrail(t, folder, sink);
  t.true(await trail.flush(30_000));
  t.is(sink.stored.size, 8);
  t.is(trail.stats().rejected, 1);
  t.true(log.lines.some((line) => line.includes('unfinished line')));
  t.true(log.lines.some((line) => line.includes('damaged')));
});

test('a detail that is no JSON or too long is left out of the record', async (t) => {
  const sink = new FakeSink();
  const { trail } = startTrail(t, await tempFolder(t), sink);
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  trail.record(entry({ detail: cyclic }));
  trail.record(entry({ detail: { text: 'x'.repeat(2_000_000) } }));
  t.true(await trail.flush(30_000));
  t.deepEqual(
    [...sink.stored.values()].map(({ detail }) => detail),
    [{ omitted: true }, { omitted: true }],
  );
});

test('a directory that cannot be made stops the start and is named, with its variable', async (t) => {
  const file = path.join(await tempFolder(t), 'file');
  writeFileSync(file, '');
  const directory = path.join(file, 'audit');
  t.throws(() => startTrail(t, directory, new FakeSink()), {
    message: (text) => text.includes(`${directory} (SVC_DATA_DIR)`) && text.includes('ENOTDIR'),
  });
});

test('while the disk fails records are kept in memory and still reach the sink', async (t) => {
  const folder = await tempFolder(t);
  const sink = new FakeSink();
  sink.isAway = true;
  const { trail, log } = startTrail(t, folder, sink, { segmentBytes: 1 });
  const [own] = readdirSync(folder) as [string];
  // Every record needs a new segment; where a file stands in the way of the folder's name none can be made.
  const broken = breakFolder(path.join(folder, own));
  await Promise.all(Array.from({ length: 20 }, () => trail.record(entry())));
  t.is(trail.stats().queued, 20);
  t.is(trail.stats().spooledBytes, 0);
  t.true(log.lines.some((line) => line.includes('the disk fails')));
  sink.isAway = false;
  t.true(await trail.flush(30_000));
  t.is(sink.stored.size, 20);
  broken.repair();
});

test('memory is bounded too while the disk fails: callers wait', async (t) => {
  const folder = await tempFolder(t);
  const sink = new FakeSink();
  sink.isAway = true;
  const { trail } = startTrail(t, folder, sink, {
    segmentBytes: 1,
    memoryBytes: 5_000,
    roomDeadline: 10_000,
  });
  const broken = breakFolder(path.join(folder, readdirSync(folder)[0] as string));
  let count = 0;
  for (; trail.room() === undefined; count += 1) await trail.record(entry());
  t.true(count > 5 && count < 50, `${count}`);
  const room = trail.room();
  sink.isAway = false;
  await room;
  broken.repair();
  t.true(await trail.flush(30_000));
  t.is(sink.stored.size, count);
});

test('what was kept in memory is in the journal again at the end', async (t) => {
  const folder = await tempFolder(t);
  const [away, back] = [new FakeSink(), new FakeSink()];
  away.isAway = true;
  const { trail } = startTrail(t, folder, away, { segmentBytes: 1 });
  const broken = breakFolder(path.join(folder, readdirSync(folder)[0] as string));
  recordMany((one) => trail.record(one), 20);
  broken.repair();
  await trail.close(0);
  t.is(trail.stats().lost, 0);
  const next = startTrail(t, folder, back).trail;
  t.true(await next.flush(30_000));
  t.is(back.stored.size, 20);
});

test('more than is kept at hand comes from the files, once each, and so does what follows', async (t) => {
  const sink = new FakeSink();
  sink.isAway = true;
  const { trail } = startTrail(t, await tempFolder(t), sink);
  await Promise.all(Array.from({ length: 6_000 }, () => trail.record(entry())));
  sink.isAway = false;
  t.true(await trail.flush(10_000));
  t.is(sink.stored.size, 6_000);
  await Promise.all(Array.from({ length: 700 }, () => trail.record(entry())));
  t.true(await trail.flush(30_000));
  t.is(sink.stored.size, 6_700);
  t.deepEqual([trail.stats().queued, trail.stats().spooledBytes, trail.stats().lost], [0, 0, 0]);
});

test('whatever the sink does, nothing is lost, and nothing is stored twice', async (t) => {
  const happening = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ kind: fc.constant('record' as const), count: fc.integer({ min: 1, max: 40 }) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constantFrom('away' as const, 'back' as const, 'flush' as const),
        count: fc.constant(0),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constantFrom('poison' as const, 'restart' as const),
        count: fc.constant(0),
      }),
    },
  );
  const sizes = fc.record({
    batchSize: fc.integer({ min: 1, max: 30 }),
    segmentBytes: fc.integer({ min: 1, max: 5_000 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(happening, { maxLength: 25 }), sizes, async (happenings, limits) => {
      const folder = await tempFolder(t);
      const sink = new FakeSink();
      sink.refuses = ({ action }) => action === 'POISON';
      let { trail } = startTrail(t, folder, sink, limits);
      const good = new Set<string>();
      let poison = 0;
      let rejected = 0;
      const record = (one: AuditEntry) => {
        good.add(one.id);
        trail.record(one);
      };
      record(entry());
      t.true(await trail.flush(30_000));
      for (const { kind, count } of happenings) {
        if (kind === 'record') recordMany(record, count);
        else if (kind === 'away' || kind === 'back') sink.isAway = kind === 'away';
        else if (kind === 'flush') await trail.flush(sink.isAway ? 1 : 30_000);
        else if (kind === 'poison') {
          trail.record(entry({ action: 'POISON' }));
          poison += 1;
        } else {
          await trail.close(1);
          rejected += trail.stats().rejected;
          trail = startTrail(t, folder, sink, limits).trail;
        }
      }
      sink.isAway = false;
      record(entry());
      t.true(await trail.flush(30_000));
      await trail.close(1_000);
      // Not in the order of their coming: a look whether the sink works may write one of them first.
      t.deepEqual([...sink.stored.keys()].sort(), [...good].sort());
      // A restart may find a bad entry that was set aside in the moment of the end.
      t.true(rejected + trail.stats().rejected >= poison);
      t.deepEqual(
        readdirSync(folder).filter((name) => !name.endsWith('.rejected')),
        [],
      );
    }),
    { numRuns: 40, interruptAfterTimeLimit: 20_000 },
  );
});

/** Makes it impossible to create files in a folder, also for a superuser, by putting a file in its place. */
function breakFolder(folder: string): { repair(): void } {
  const aside = `${folder}.aside`;
  renameSync(folder, aside);
  writeFileSync(folder, '');
  return {
    repair() {
      unlinkSync(folder);
      renameSync(aside, folder);
    },
  };
}
