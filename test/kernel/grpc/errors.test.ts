import test from 'ava';
import fc from 'fast-check';
import { KernelErrors } from '../../../foundation/base/error-catalogue.ts';
import { defineErrors, type ErrorKind, GatewayError } from '../../../foundation/base/gateway-error.ts';
import { GRPC_CODES, grpcStatusName, grpcStatusOf } from '../../../foundation/base/grpc-status.ts';
import { DatabaseErrors } from '../../../foundation/data/errors.ts';
import { renderGrpcError } from '../../../foundation/errors/render-grpc.ts';
import { HTTP_STATUS } from '../../../foundation/errors/status.ts';
import { decodeStatusDetails, encodeStatusDetails } from '../../../foundation/grpc/status-details.ts';
import { anyCodePoint } from '../../support/code-points.ts';
import { until } from '../../support/until.ts';
import { notesService, startGrpc } from './kit.ts';

const TABLE: Readonly<Record<ErrorKind, string>> = {
  invalid: 'INVALID_ARGUMENT',
  unauthenticated: 'UNAUTHENTICATED',
  forbidden: 'PERMISSION_DENIED',
  'not-found': 'NOT_FOUND',
  'method-not-allowed': 'UNIMPLEMENTED',
  conflict: 'FAILED_PRECONDITION',
  gone: 'NOT_FOUND',
  'precondition-failed': 'ABORTED',
  'too-large': 'RESOURCE_EXHAUSTED',
  'unsupported-media': 'INVALID_ARGUMENT',
  'headers-too-large': 'RESOURCE_EXHAUSTED',
  'expectation-failed': 'INVALID_ARGUMENT',
  'request-timeout': 'DEADLINE_EXCEEDED',
  'range-not-satisfiable': 'OUT_OF_RANGE',
  'rate-limited': 'RESOURCE_EXHAUSTED',
  'client-closed': 'CANCELLED',
  internal: 'INTERNAL',
  upstream: 'UNAVAILABLE',
  unavailable: 'UNAVAILABLE',
  timeout: 'DEADLINE_EXCEEDED',
};

test('every kind of error has its status', (t) => {
  t.deepEqual(Object.keys(TABLE).sort(), Object.keys(HTTP_STATUS).sort());
  for (const [kind, status] of Object.entries(TABLE)) {
    t.is(grpcStatusOf({ kind: kind as ErrorKind, code: 'x.y' }), status as never, kind);
  }
});

test('what is unknown is unimplemented, and what is taken exists already', (t) => {
  t.is(grpcStatusOf(KernelErrors.pathNotFound()), 'UNIMPLEMENTED');
  t.is(grpcStatusOf(KernelErrors.unsupportedEncoding()), 'UNIMPLEMENTED');
  for (const code of ['agent.exists', 'agent.name-taken', 'note.taken', 'x.duplicate']) {
    t.is(grpcStatusOf({ kind: 'conflict', code }), 'ALREADY_EXISTS', code);
    t.is(grpcStatusOf({ kind: 'not-found', code }), 'NOT_FOUND');
  }
  t.is(grpcStatusOf({ kind: 'conflict', code: 'taken.by-nobody' }), 'FAILED_PRECONDITION');
});

test('codes have their names', (t) => {
  for (const [name, code] of Object.entries(GRPC_CODES)) t.is(grpcStatusName(code), name);
  t.is(grpcStatusName(99), '99');
});

const Errors = defineErrors({
  missing: { code: 'note.missing', kind: 'not-found', title: 'There is no such note' },
  taken: { code: 'note.name-taken', kind: 'conflict', title: 'There is one of this name' },
});

test('a thrown error ends the call with its status, its code and its sentence', async (t) => {
  await using grpc = await startGrpc({
    services: [
      notesService({
        GetNote: {
          handle: () => {
            throw Errors.missing('There is no note 7');
          },
        },
        KeepNotes: {
          handle: async () => {
            throw Errors.taken(undefined, { headers: { 'retry-after': '3' } });
          },
        },
      }),
    ],
  });
  const client = grpc.client();
  const missing = await client.call('GetNote', {}, { metadata: { 'x-request-id': 'r1' } });
  t.deepEqual([missing.code, missing.details], ['NOT_FOUND', 'There is no note 7']);
  t.like(missing.metadata, { 'svc-error-code': 'note.missing', 'x-request-id': 'r1' });
  const taken = await client.call('KeepNotes', []);
  t.is(taken.code, 'ALREADY_EXISTS');
  t.like(taken.metadata, {
    'svc-error-code': 'note.name-taken',
    'retry-after': '3',
    'x-should-retry': 'false',
  });
  const [first, second] = await grpc.audited();
  t.like(first, { statusCode: 404, errorCode: 'note.missing' });
  t.like(second, { statusCode: 409, errorCode: 'note.name-taken' });
});

test('a client that retries by its policy repeats what may be repeated, and nothing else', async (t) => {
  const calls: string[] = [];
  const failing = (name: string, retryable: boolean) => () => {
    calls.push(name);
    throw KernelErrors.overloaded(undefined, { retryable });
  };
  await using grpc = await startGrpc({
    services: [
      notesService({
        GetNote: { handle: failing('may', true) },
        KeepNotes: { handle: failing('may not', false) },
      }),
    ],
  });
  const retryPolicy = {
    maxAttempts: 3,
    initialBackoff: '0.01s',
    maxBackoff: '0.01s',
    backoffMultiplier: 1,
    retryableStatusCodes: ['UNAVAILABLE'],
  };
  const config = JSON.stringify({ methodConfig: [{ name: [{}], retryPolicy }] });
  const client = grpc.client({ channel: { 'grpc.service_config': config } });
  t.is((await client.call('GetNote')).code, 'UNAVAILABLE');
  t.is((await client.call('KeepNotes', [])).code, 'UNAVAILABLE');
  t.deepEqual(calls, ['may', 'may', 'may', 'may not']);
});

test('of what nobody expected no word reaches the caller, and all of it the log', async (t) => {
  await using grpc = await startGrpc({
    services: [
      notesService({
        GetNote: {
          handle: () => {
            throw new Error('SELECT * FROM secrets failed');
          },
        },
      }),
    ],
  });
  const { code, details, metadata } = await grpc.client().call('GetNote');
  t.is(code, 'INTERNAL');
  t.is(details, 'Something went wrong inside the gateway');
  t.is(metadata['svc-error-code'], 'internal');
  t.false(JSON.stringify(metadata).includes('SELECT'));
  await until(() => grpc.logs().some((line) => line.includes('SELECT * FROM secrets failed')), 10_000);
  t.pass();
});

test('a stream that has begun ends with the status, after its messages', async (t) => {
  await using grpc = await startGrpc({
    services: [
      notesService({
        Tail: {
          async *handle() {
            yield { id: '1' };
            yield { id: '2' };
            throw Errors.missing();
          },
        },
      }),
    ],
  });
  const answer = await grpc.client().call('Tail');
  t.deepEqual([answer.messages.length, answer.code], [2, 'NOT_FOUND']);
  t.is(answer.metadata['svc-error-code'], 'note.missing');
});

test('a response that is no such message is our failure', async (t) => {
  await using grpc = await startGrpc({
    services: [notesService({ GetNote: { handle: () => ({ note: { created_at: 'tomorrow' } }) } })],
  });
  t.is((await grpc.client().call('GetNote')).code, 'INTERNAL');
  await until(
    () => grpc.logs().some((line) => line.includes('note.created_at must be a Date or an RFC 3339 time')),
    10_000,
  );
  t.pass();
});

test('a field is told by its name, not as a pointer writes it', (t) => {
  const errors = [{ pointer: '/body/a~1b/0/~01', message: 'is odd' }];
  const { details, violations } = renderGrpcError(KernelErrors.invalidRequest('No', { errors }));
  t.is(details, 'No: a/b[0].~1 is odd');
  t.is(violations[0]!.field, 'a/b[0].~1');
});

test('a sentence that quotes a credential is told without it', (t) => {
  const key = `hk_${'a'.repeat(40)}`;
  const error = KernelErrors.invalidRequest(`There is no ${key}`, {
    errors: [{ pointer: '/body/id', message: `${key} is no id` }],
  });
  t.false(JSON.stringify(renderGrpcError(error)).includes(key));
});

test('an error about many fields with long names fits into the 8 KiB of metadata that clients take', (t) => {
  for (const name of ['名'.repeat(200), '\u{1F600}'.repeat(100), 'name '.repeat(40)]) {
    const errors = Array.from({ length: 60 }, (_, n) => ({ pointer: `/body/${n}${name}`, message: name }));
    const rendered = renderGrpcError(KernelErrors.invalidRequest(undefined, { errors }));
    const bytes = encodeStatusDetails(rendered);
    t.true(encodeURI(rendered.details).length + bytes.toString('base64').length <= 7000);
    t.regex(rendered.details, /^The request is not valid: 0.+…$/u);
    t.true(decodeStatusDetails(bytes).length >= 4);
  }
});

test('whatever an error says, its trailers are small and can be sent', (t) => {
  const text = fc.string({ unit: anyCodePoint, maxLength: 3000 });
  fc.assert(
    fc.property(
      text,
      fc.array(fc.record({ pointer: text, message: text }), { maxLength: 100 }),
      text,
      (detail, errors, header) => {
        const definition = { code: 'a.b', kind: 'invalid', title: 'x' } as const;
        const error = new GatewayError(definition, detail, { errors, headers: { 'retry-after': header } });
        const rendered = renderGrpcError(error);
        t.true(rendered.details.length <= 1024);
        t.regex(rendered.trailers['retry-after']!, /^[\x20-\x7e]{0,256}$/);
        const bytes = encodeStatusDetails(rendered);
        t.true(encodeURI(rendered.details).length + bytes.toString('base64').length <= 7000);
        const named = decodeStatusDetails(bytes).length;
        t.true(named >= Math.min(errors.length, 4) && named <= 32);
      },
    ),
    { numRuns: 200 },
  );
});

test('clients with a retry policy learn in their own terms how long an absent database is to be left alone', (t) => {
  const pushback = (error: GatewayError) => renderGrpcError(error).trailers['grpc-retry-pushback-ms'];
  t.is(pushback(DatabaseErrors.unavailable()), '5000');
  t.is(pushback(DatabaseErrors.unavailable(undefined, { retryable: false })), '-1');
  t.is(pushback(KernelErrors.overloaded()), undefined);
  const date = { 'retry-after': 'Fri, 31 Dec 1999 23:59:59 GMT' };
  t.is(pushback(KernelErrors.overloaded(undefined, { headers: date })), undefined);
});
