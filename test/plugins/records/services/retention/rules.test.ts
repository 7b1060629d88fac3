import test from 'ava';
import fc from 'fast-check';
import { ConfigurationError } from '../../../../../kernel/index.ts';
import { parseKeep } from '../../../../../plugins/records/contract.ts';
import {
  deletedBefore,
  readRetention,
  ruleOf,
} from '../../../../../plugins/records/services/retention/rules.ts';

const DAY_MS = 86_400_000;
const LATER = new Date(5_000);

test("the tenant's rule goes before the operator's, and that before the plugin's", (t) => {
  const tenant = { keepMs: 1, deletesFrom: LATER };
  t.deepEqual(ruleOf({ tenant, deployment: 2, plugin: 3 }), {
    keep: 1,
    source: 'tenant',
    deletesFrom: LATER,
  });
  t.like(ruleOf({ deployment: 2, plugin: 3 }), { keep: 2, source: 'deployment', deletesFrom: null });
  t.like(ruleOf({ deployment: null, plugin: 3 }), { keep: null, source: 'deployment' });
  t.like(ruleOf({ plugin: 3 }), { keep: 3, source: 'default' });
  t.like(ruleOf({}), { keep: null, source: 'default' }, 'what nobody speaks of is kept');
  const forever = { keepMs: null, deletesFrom: LATER };
  t.deepEqual(ruleOf({ tenant: forever, deployment: 2 }), {
    keep: null,
    source: 'tenant',
    deletesFrom: null,
  });
});

test('nothing goes before its time, nor before the rule deletes', (t) => {
  t.is(deletedBefore({ keep: null, source: 'default', deletesFrom: null }, 10_000), undefined);
  t.is(deletedBefore({ keep: 10, source: 'tenant', deletesFrom: LATER }, 4_999), undefined);
  t.is(deletedBefore({ keep: 10, source: 'tenant', deletesFrom: LATER }, 5_000)?.getTime(), 4_990);
  t.is(deletedBefore({ keep: 10, source: 'default', deletesFrom: null }, 5_000)?.getTime(), 4_990);
});

test('SVC_RETENTION is read, and everything that is wrong with it is told at once', (t) => {
  const rules = readRetention(['sessions=90d', 'chats=forever', 'usage_records=1h']);
  t.deepEqual(
    [...rules],
    [
      ['sessions', 90 * DAY_MS],
      ['chats', null],
      ['usage_records', 3_600_000],
    ],
  );
  const wrong = [
    'sessions',
    'sessions=',
    'Sessions=1d',
    'chats=59m',
    'files=36501d',
    'a=1d',
    'a=2d',
    'b=soon',
  ];
  const error = t.throws(() => readRetention(wrong), { instanceOf: ConfigurationError })!;
  t.is(error.message.match(/SVC_RETENTION/g)!.length, 7, error.message);
  t.regex(error.message, /"a" is named twice/);
});

test('what can be kept is an hour to a hundred years', (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 40_000 * 24 }), (hours) => {
      t.is(typeof parseKeep(`${hours}h`), hours >= 1 && hours <= 876_000 ? 'number' : 'undefined');
    }),
  );
  for (const text of ['', '-1d', 'Forever', '1w', '1e3d', 'NaN']) t.is(parseKeep(text), undefined, text);
});
