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

/** A listener whose answers wait for the gate, the requests that it has begun to serve, and what its parser refused. */
async function start(t: ExecutionContext, requestTimeout?: number) {
  const rest = gate();
  const served: string[] = [];
  const refused: unknown[] = [];
  const log = pino({ level: 'silent' });
  const refuse = createRefuseConnection({
    clock: systemClock,
    ids: createIds(systemClock),
    http: createMetrics({ version: 'test', process: false }).http,
    log,
  });
  const listeners = new Listeners({
    handler: () => (request, response) => {
      served.push(request.url!);
      let bytes = 0;
      request.on('data', (part) => {
        bytes += part.length;
      });
      request.on('end', async () => {
        await rest.opened;
        response.end(`(${request.url}, ${bytes})`);
      });
    },
    everywhere: [],
    refuse(cause, ...of) {
      refused.push((cause as NodeJS.ErrnoException).code);
      refuse(cause, ...of);
    },
    log,
    ...(requestTimeout !== undefined && { requestTimeout }),
  });
  const address = { host: '127.0.0.1', port: 0, variable: 'NONE' };
  await listeners.open(address, 'test');
  const connection = await connect(listeners.url(address));
  t.teardown(async () => {
    connection.destroy();
    listeners.destroy();
    await listeners.close();
  });
  return { listeners, connection, rest, served, refused };
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

test('clients are asked to leave with the last of the answers that they wait for', async (t) => {
  const { listeners, connection, rest, served } = await start(t);
  connection.write(get('/1') + get('/2') + get('/3'));
  await until(() => served.length === 1);
  listeners.leave();
  rest.open();
  await connection.closed;
  t.deepEqual(connection.received().match(/Connection: [\w-]+|\(\/\d, 0\)/g), [
    'Connection: keep-alive',
    '(/1, 0)',
    'Connection: keep-alive',
    '(/2, 0)',
    'Connection: close',
    '(/3, 0)',
  ]);
});

const post = (path: string, length: number) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`;

/** Bytes: more than a request takes before somebody reads them. */
const LARGE = 1024 * 1024;

test('a long request that has to wait for its turn has its time from then on', async (t) => {
  const { connection, rest, served, refused } = await start(t, 1_000);
  connection.write(get('/1') + post('/2', LARGE));
  connection.write(Buffer.alloc(LARGE));
  await until(() => refused.length > 0);
  t.deepEqual([...served, ...refused], ['/1', 'ERR_HTTP_REQUEST_TIMEOUT']);
  rest.open();
  await until(() => connection.received().includes(`(/2, ${LARGE})`));
  connection.write(get('/3'));
  await until(() => connection.received().includes('(/3, 0)'));
});

test('a request that had to wait for its turn, and then does not come to its end in time, is refused', async (t) => {
  const { connection, rest, served, refused } = await start(t, 100);
  connection.write(get('/1') + post('/2', 2));
  await until(() => refused.length > 0);
  connection.write('{');
  rest.open();
  await connection.closed;
  t.deepEqual(served, ['/1', '/2']);
  t.regex(connection.received(), /\(\/1, 0\)HTTP\/1\.1 408 /);
});
