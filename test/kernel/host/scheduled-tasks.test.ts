import test from 'ava';
import type { Scope } from '../../../kernel/api/scope.ts';
import { startTestGateway } from '../../../testing/index.ts';
import { freshDatabase } from '../../support/databases.ts';
import { testPlugin } from '../../support/plugins.ts';
import { settled, until } from '../../support/until.ts';

test('over two replicas and their restarts a task of one replica runs once each time', async (t) => {
  const fresh = await freshDatabase(t, 'postgres');
  if (fresh === undefined) return;
  const runs: string[] = [];
  const start = (replica: string) => {
    const plugin = testPlugin('acme', {
      setup(scope) {
        const note = (task: string) => async () => void runs.push(`${replica} ${task}`);
        scope.every('hourly', 3_600_000, note('hourly'), { replicas: 'one', immediately: true });
        scope.every('often', 100, note('often'), { replicas: 'one' });
        scope.cron('nightly', '0 3 * * *', note('nightly'), { timezone: 'Europe/Berlin' });
      },
    });
    return startTestGateway({ plugins: [plugin], env: fresh.environment });
  };
  const ofHour = () => runs.filter((run) => run.endsWith('hourly')).length;
  const begun = performance.now();
  {
    await using _first = await start('first');
    await using _second = await start('second');
    await until(() => ofHour() === 1);
    await until(() => runs.filter((run) => run.endsWith('often')).length >= 5);
    const often = runs.filter((run) => run.endsWith('often')).length;
    t.true(often <= (performance.now() - begun) / 100, `${often} runs`);
  }
  const before = runs.length;
  await using third = await start('third');
  await until(() => runs.length > before);
  await settled(() => ofHour());
  t.is(ofHour(), 1, 'a restart runs nothing before its time');
  const rows = await fresh.ask(
    "select name, to_timestamp(next_at / 1000.0) at time zone 'Europe/Berlin' as at from kernel_schedules order by name",
  );
  t.deepEqual(
    rows.map(({ name }) => name),
    ['acme.hourly', 'acme.nightly', 'acme.often'],
  );
  t.regex(JSON.stringify(rows[1]), /03:00:00/);
  const { body } = await third.request('/admin/v1/plugins/acme');
  t.deepEqual(body.effects.tasks, ['hourly', 'often', 'nightly']);
});

const REFUSED: readonly (readonly [string, RegExp, (scope: Scope) => void])[] = [
  ['a pattern without a time', /has no time/, (scope) => scope.cron('x', '0 0 30 2 *', async () => {})],
  [
    'a time zone that is none',
    /Mars/,
    (scope) => scope.cron('x', '0 3 * * *', async () => {}, { timezone: 'Mars' }),
  ],
  ['an interval of nothing', /10 ms/, (scope) => scope.every('x', 0, async () => {}, { replicas: 'one' })],
  ['an interval that is no number', /10 ms.*NaN/, (scope) => scope.every('x', Number.NaN, async () => {})],
  ['a name with a blank', /no name of a task/, (scope) => scope.every('a b', 1_000, async () => {})],
  [
    'a name that is taken',
    /two tasks named x/,
    (scope) => {
      scope.every('x', 1_000, async () => {});
      scope.cron('x', '0 3 * * *', async () => {});
    },
  ],
];

for (const [what, reason, setup] of REFUSED) {
  test(`${what} fails the set-up`, async (t) => {
    await using gateway = await startTestGateway({ plugins: [testPlugin('acme', { setup })] });
    const { body } = await gateway.request('/admin/v1/plugins/acme');
    t.is(body.state, 'failed');
    t.regex(body.reason, reason);
  });
}
