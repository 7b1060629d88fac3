import test from 'ava';
import { type Clock, systemClock } from '../../foundation/base/clock.ts';
import { startTestGateway } from '../../testing/index.ts';
import { eachGatewayDatabase } from '../support/databases.ts';

const AHEAD_SECONDS = 180;

/** That of a machine that is three minutes ahead. */
const ahead: Clock = {
  now: () => systemClock.now() + AHEAD_SECONDS * 1000,
  monotonic: () => systemClock.monotonic(),
};

eachGatewayDatabase(
  test,
  'a clock that is not that of the database is told of at the start, and by a metric',
  async (t, { family, environment }) => {
    const told = async (clock: Clock) => {
      const gateway = await startTestGateway({ env: environment, clock, plugins: [] });
      t.teardown(gateway.stop);
      const { body } = await gateway.request('/metrics');
      return {
        seconds: Math.round(Number(/^svc_clock_ahead_seconds (\S+)$/m.exec(body)?.[1])),
        lines: gateway.logs().filter((line) => line.includes('the clock of this machine')),
      };
    };
    const wrong = await told(ahead);
    // A file has the clock of its machine.
    const expected = family === 'sqlite' ? 0 : AHEAD_SECONDS;
    t.is(wrong.seconds, expected);
    t.is(wrong.lines.length, expected === 0 ? 0 : 1);
    for (const line of wrong.lines) t.like(JSON.parse(line), { level: 'warn', seconds: expected });
    const right = await told(systemClock);
    t.is(Math.abs(right.seconds), 0);
    t.deepEqual(right.lines, []);
  },
);
