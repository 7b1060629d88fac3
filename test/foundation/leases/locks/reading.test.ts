import test from 'ava';
import {
  type DelegationTimes,
  Knowledge,
  type Reading,
} from '../../../../foundation/leases/locks/reading.ts';

const TIMES: DelegationTimes = { beat: 100, alone: 400, settle: 800, suspend: 1_000, forget: 6_000 };
const READING: Reading = {
  askedAt: 10_000,
  answeredAt: 10_050,
  dataset: 'run:mark',
  suspendedFor: 0,
  suspendedSince: 0,
};

function knowing(...readings: Partial<Reading>[]): Knowledge {
  const knowledge = new Knowledge(TIMES);
  for (const reading of readings) knowledge.learn({ ...READING, ...reading });
  return knowledge;
}

test('without a reading nothing may be granted, and nothing is held', (t) => {
  const knowledge = knowing();
  t.false(knowledge.isFresh(0));
  t.false(knowledge.isRedisAlone(0));
  t.false(knowledge.isDatabaseAlone(0));
  t.is(knowledge.redisAloneUntil(), Number.NEGATIVE_INFINITY);
  t.is(knowledge.databaseAlone().from, Number.POSITIVE_INFINITY);
  t.is(knowledge.datasetUntil('run:mark'), Number.NEGATIVE_INFINITY);
});

test('Redis grants alone for a short time after a reading, counted from the question', (t) => {
  const knowledge = knowing({});
  t.true(knowledge.isRedisAlone(10_399));
  t.false(knowledge.isRedisAlone(10_400));
  t.is(knowledge.redisAloneUntil(), 10_800);
  t.is(knowledge.datasetUntil('run:mark'), 10_800);
  t.is(knowledge.datasetUntil('other:mark'), Number.NEGATIVE_INFINITY);
});

test('a suspension ends what Redis grants alone, but not what it granted', (t) => {
  const knowledge = knowing(
    {},
    { askedAt: 10_100, answeredAt: 10_110, suspendedFor: 1_000, suspendedSince: 20 },
  );
  t.false(knowledge.isRedisAlone(10_110));
  t.is(knowledge.redisAloneUntil(), 10_800);
});

test('the database grants alone once a suspension is so old that no lock lies in Redis alone', (t) => {
  const knowledge = knowing({ suspendedFor: 1_000, suspendedSince: 300 });
  // 300 ms old at 10,050 at the earliest: 800 ms old at 10,550.
  t.false(knowledge.isDatabaseAlone(10_549));
  t.true(knowledge.isDatabaseAlone(10_550));
  t.true(knowledge.isDatabaseAlone(10_999));
  t.false(knowledge.isDatabaseAlone(11_000));
  t.deepEqual(knowledge.databaseAlone(), { from: 10_150, until: 11_000 });
});

test('nobody grants alone while the other one still may', (t) => {
  // The process that reads last before the suspension, and the one that begins it right after.
  const last = knowing({ askedAt: 10_000, answeredAt: 10_000 });
  const first = knowing({ askedAt: 10_000, answeredAt: 10_000, suspendedFor: 1_000, suspendedSince: 0 });
  for (let now = 10_000; now < 11_200; now += 1) {
    t.false(last.isRedisAlone(now) && first.databaseAlone().from <= now, `${now}`);
    t.false(last.redisAloneUntil() > now && first.isDatabaseAlone(now), `${now}`);
  }
});
