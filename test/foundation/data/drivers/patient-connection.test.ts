import { setTimeout as pause } from 'node:timers/promises';
import test from 'ava';
import type { FamilyDriver } from '../../../../foundation/data/drivers/driver.ts';
import { createPatientConnection } from '../../../../foundation/data/drivers/patient-connection.ts';
import { until } from '../../../support/until.ts';

/** Connections that only count: `open` now, `made` in all. */
function connections() {
  const counts = { open: 0, made: 0 };
  const connect = async () => {
    counts.open += 1;
    counts.made += 1;
    const close = async () => {
      counts.open -= 1;
    };
    return { orm: { driver: { getConnection: () => ({ getClient: () => counts.made }) }, close } };
  };
  return { counts, patient: createPatientConnection(connect as unknown as () => Promise<FamilyDriver>) };
}

test('work that follows shares the connection, one at a time; it is closed a moment later', async (t) => {
  const { counts, patient } = connections();
  let inside = 0;
  const work = async () => {
    inside += 1;
    t.is(inside, 1);
    await pause(1);
    inside -= 1;
  };
  t.is(counts.made, 0, 'nothing is opened in advance');
  await Promise.all([patient.lend(work), patient.lend(work)]);
  await patient.lend(work);
  t.deepEqual(counts, { open: 1, made: 1 });
  await until(() => counts.open === 0);
  await patient.lend(work);
  t.deepEqual(counts, { open: 1, made: 2 });
  await patient.close();
  t.is(counts.open, 0);
});

test('work that fails leaves the connection to the next', async (t) => {
  const { counts, patient } = connections();
  await t.throwsAsync(
    patient.lend(() => Promise.reject(new Error('no'))),
    { message: 'no' },
  );
  t.is(await patient.lend(async (queries) => queries as unknown), 1);
  t.is(counts.made, 1);
  await patient.close();
});
