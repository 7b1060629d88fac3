import { connect, createServer } from 'node:net';
import test from 'ava';
import { createTracing } from '../../../foundation/observability/create-tracing.ts';
import { startCollector } from '../../foundation/observability/otlp-collector.ts';
import { gate } from '../../support/plugins.ts';
import { until } from '../../support/until.ts';
import { notesService, startGrpc } from './kit.ts';

test('a port that is taken names plugin, address and variable; a later try may succeed', async (t) => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as { port: number };
  const address = { host: '127.0.0.1', port, variable: 'SVC_GRPC_ADDR' };
  await using grpc = await startGrpc({ open: false, server: { address } });
  const error = await t.throwsAsync(grpc.server.open('runtime'));
  t.is(error.name, 'ListenError');
  t.is(
    error.message,
    `runtime: the address 127.0.0.1:${port} is taken by another process, or by another address of this gateway; set SVC_GRPC_ADDR`,
  );
  t.is(grpc.server.address, undefined);
  await new Promise((resolve) => other.close(resolve));
  await grpc.server.open('runtime');
  t.is((await grpc.client().call('GetNote')).code, 'OK');
});

test('the address is opened once, by whoever comes first', async (t) => {
  await using grpc = await startGrpc({ open: false });
  t.is(grpc.server.address, undefined);
  await Promise.all([grpc.server.open('a'), grpc.server.open('b')]);
  const { address } = grpc.server;
  await grpc.server.open('c');
  t.is(grpc.server.address, address);
  t.is(grpc.logs().filter((line) => line.includes('listening for gRPC')).length, 1);
});

test('an address that was opened for a change that failed is closed again', async (t) => {
  await using grpc = await startGrpc({ services: [], open: false });
  await grpc.server.open('notes');
  const port = Number(grpc.server.address!.split(':')[1]);
  await grpc.server.abandon();
  t.is(grpc.server.address, undefined);
  const refused = await new Promise((resolve) => connect(port, '127.0.0.1').once('error', resolve));
  t.is((refused as NodeJS.ErrnoException).code, 'ECONNREFUSED');
  await grpc.server.open('notes');
  grpc.server.prepare([grpc.compile(notesService())])();
  grpc.server.prepare([])();
  await grpc.server.abandon();
  t.not(grpc.server.address, undefined);
  t.is((await grpc.client().call('GetNote')).code, 'UNIMPLEMENTED');
});

test('a server that closes lets calls finish, takes no more, and then is gone', async (t) => {
  const { open, opened } = gate();
  await using grpc = await startGrpc({
    services: [notesService({ GetNote: { handle: () => opened.then(() => ({ note: { text: 'late' } })) } })],
  });
  const client = grpc.client();
  const slow = client.call('GetNote');
  await until(() => grpc.inFlight.size === 1, 10_000);
  let isClosed = false;
  const closing = grpc.server.close().then(() => {
    isClosed = true;
  });
  await until(async () => (await client.call('KeepNotes', [], { timeout: 2000 })).code !== 'OK', 10_000);
  t.false(isClosed);
  open();
  t.is((await slow).message.note.text, 'late');
  await closing;
  t.is((await client.call('KeepNotes', [], { timeout: 500 })).code === 'OK', false);
});

test('what does not end in time is cut off', async (t) => {
  await using grpc = await startGrpc({
    services: [notesService({ GetNote: { handle: () => new Promise(() => {}) } })],
  });
  const idle = connect(Number(grpc.server.address!.split(':')[1]), '127.0.0.1');
  idle.on('error', () => undefined).resume();
  const call = grpc.client().call('GetNote');
  await until(() => grpc.inFlight.size === 1, 10_000);
  const closing = grpc.server.close();
  grpc.server.destroy();
  t.not((await call).code, 'OK');
  await closing;
  await until(() => idle.destroyed, 10_000);
  t.pass();
});

test('a server that never listened closes at once, and twice does no harm', async (t) => {
  await using grpc = await startGrpc({ open: false });
  await grpc.server.close();
  grpc.server.destroy();
  await grpc.server.close();
  t.pass();
});

test('what is no HTTP/2 or no gRPC is closed, and disturbs neither others nor the log', async (t) => {
  await using grpc = await startGrpc();
  const port = Number(grpc.server.address!.split(':')[1]);
  const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
  const noises = [
    'GET / HTTP/1.1\r\nHost: x\r\n\r\n',
    '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003',
    `${preface}${'\u0000'.repeat(9)}${'\u00ff'.repeat(5000)}`,
    `${preface}\u00ff\u00ff\u00ff\u0001\u0000\u0000\u0000\u0000\u0001`,
    'x'.repeat(100_000),
  ];
  for (const noise of [...noises, ...noises]) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.end(Buffer.from(noise, 'latin1'));
    socket.resume();
    await until(() => socket.destroyed, 10_000);
  }
  t.is((await grpc.client().call('GetNote')).code, 'OK');
  t.deepEqual(
    grpc.logs().filter((line) => /"level":"(warn|error|fatal)"/.test(line)),
    [],
  );
});

test('the trace of the client is continued, and the span tells the method and its status', async (t) => {
  const collector = await startCollector();
  t.teardown(() => collector.close());
  const log = { info() {}, warn() {}, error() {}, debug() {} } as never;
  const options = { endpoint: `http://${collector.address}`, serviceName: 'g', version: '1', log };
  const traces = await createTracing(options);
  const seen: Readonly<Record<string, string>>[] = [];
  await using grpc = await startGrpc({
    traces,
    services: [
      notesService({
        GetNote: {
          handle: (call) => {
            seen.push(call.traceHeaders());
          },
        },
      }),
    ],
  });
  const trace = '0af7651916cd43dd8448eb211c80319c';
  const metadata = {
    traceparent: `00-${trace}-b7ad6b7169203331-01`,
    tracestate: 'vendor=1',
    'x-request-id': 'r1',
  };
  const client = grpc.client();
  await client.call('GetNote', {}, { metadata });
  await client.call('Nothing', {}, { metadata });
  await until(async () => (await grpc.audited()).length === 2, 10_000);
  await until(() => grpc.logs().filter((line) => line.includes('"method":"GRPC"')).length === 2, 10_000);
  await traces.shutdown();
  await until(() => collector.spans.length === 2, 10_000);
  const [found, nothing] = collector.spans.toSorted((a, b) => a.name.localeCompare(b.name));
  t.like(found, {
    traceId: trace,
    parentSpanId: 'b7ad6b7169203331',
    traceState: 'vendor=1',
    kind: 2,
    status: 0,
  });
  t.is(found!.name, 'svc.notes.v1.NotesService/GetNote');
  t.like(found!.attributes, {
    'rpc.system': 'grpc',
    'rpc.service': 'svc.notes.v1.NotesService',
    'rpc.method': 'GetNote',
    'rpc.grpc.status_code': 0,
    'svc.request_id': 'r1',
  });
  t.true(seen[0]!.traceparent!.includes(found!.spanId));
  t.is(nothing!.name, 'unmatched');
  t.is(nothing!.attributes['rpc.grpc.status_code'], 12);
});
