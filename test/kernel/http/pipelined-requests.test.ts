import test, { type ExecutionContext } from 'ava';
import pino from 'pino';
import { systemClock } from '../../../foundation/base/clock.ts';
import { createIds } from '../../../foundation/base/ids.ts';
import { createRefuseConnection } from '../../../foundation/http/refusals.ts';
import { createMetrics } from '../../../foundation/observability/metrics.ts';
import { Listeners } from '../../../kernel/http/listeners.ts';
import { gate } from '../../support/plugins.ts';
import { connect } from '../../support/raw-http.ts';
import { until } from '../../support/until.ts';

/** A listener whose answers wait for the gate, and the requests that it has begun to serve. */
async function start(t: ExecutionContext) {
  const rest = gate();
  const served: string[] = [];
  const log = pino({ level: 'silent' });
  const listeners = new Listeners({
    handler: () => async (request, response) => {
      served.push(request.url!);
      await rest.opened;
      response.end(`(${request.url})`);
    },
    everywhere: [],
    refuse: createRefuseConnection({
      clock: systemClock,
      ids: createIds(systemClock),
      http: createMetrics({ version: 'test', process: false }).http,
      log,
    }),
    log,
  });
  const address = { host: '127.0.0.1', port: 0, variable: 'NONE' };
  await listeners.open(address, 'test');
  const connection = await connect(listeners.url(address));
  t.teardown(async () => {
    connection.destroy();
    listeners.destroy();
    await listeners.close();
  });
  return { listeners, connection, rest, served };
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

test('clients are asked to leave with the last of the answers that they wait for', async (t) => {
  const { listeners, connection, rest, served } = await start(t);
  connection.write(get('/1') + get('/2') + get('/3'));
  await until(() => served.length === 1);
  listeners.leave();
  rest.open();
  await connection.closed;
  t.deepEqual(connection.received().match(/Connection: [\w-]+|\(\/\d\)/g), [
    'Connection: keep-alive',
    '(/1)',
    'Connection: keep-alive',
    '(/2)',
    'Connection: close',
    '(/3)',
  ]);
});
