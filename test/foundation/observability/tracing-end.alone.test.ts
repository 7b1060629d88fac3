import test from 'ava';
import { endsWithin } from '../../../foundation/base/deadline.ts';
import { cpuNow } from '../../support/cpu-time.ts';
import { freePort } from '../../support/free-port.ts';
import { until } from '../../support/until.ts';
import { collector, incoming, outcome, record } from './tracing-kit.ts';

/**
 * Beside the two seconds, and less than an export may take. All are timers of this process: one that stands still for a
 * while fires them in their order.
 */
const SOONER_MS = 1_500;
const LATER_MS = 3_000;

test('a collector that is not there delays no request and the end of the process by two seconds at most', async (t) => {
  const port = await freePort();
  const { tracing, log } = await record(`http://127.0.0.1:${port}`);
  const started = cpuNow();
  for (let count = 0; count < 5000; count += 1) tracing.start('GET', incoming).end(outcome);
  t.true(cpuNow() - started < 2000);
  t.true(await endsWithin(SOONER_MS + LATER_MS, tracing.shutdown()));
  t.true(
    log.some((line) => line.includes('trace collector')),
    'the log tells that spans were lost',
  );
});

test('a collector that never answers delays the end of the process by two seconds at most', async (t) => {
  const { address, spans } = await collector(t, { answer: false });
  const { tracing, log } = await record(`http://${address}`);
  tracing.start('GET', incoming).end(outcome);
  // The connection is there before the end begins: a busy machine may take longer than those two seconds for it.
  await until(() => spans.length === 1);
  tracing.start('GET', incoming).end(outcome);
  const stopping = tracing.shutdown();
  t.false(await endsWithin(SOONER_MS, stopping));
  t.true(await endsWithin(LATER_MS, stopping));
  // On a busy machine the first export may reach its own deadline meanwhile; then the line is another, and tells the
  // same.
  t.true(
    log.some((line) => line.includes('trace collector')),
    log.join(''),
  );
});
