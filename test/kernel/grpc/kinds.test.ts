import test from 'ava';
import { notesService, startGrpc } from './kit.ts';

test('a unary method answers with what its handler returns', async (t) => {
  await using grpc = await startGrpc();
  const answer = await grpc.client().call('GetNote', { id: '7' });
  t.is(answer.code, 'OK', answer.details);
  t.is(answer.message.note.text, 'note 7');
  t.is(answer.messages.length, 1);
});

test('a server-streaming method sends what its generator yields', async (t) => {
  await using grpc = await startGrpc();
  const answer = await grpc.client().call('Tail', { count: 3, size: 2 });
  t.is(answer.code, 'OK');
  t.deepEqual(
    answer.messages.map(({ id, text }) => [id, text]),
    [
      ['0', 'xx'],
      ['1', 'xx'],
      ['2', 'xx'],
    ],
  );
});

test('a client-streaming method reads its requests one by one and answers once', async (t) => {
  await using grpc = await startGrpc();
  const answer = await grpc.client().call('KeepNotes', [{ text: 'a' }, { text: 'b' }, { text: 'c' }]);
  t.deepEqual(answer.messages, [{ count: 3, texts: ['a', 'b', 'c'] }]);
  t.is((await grpc.client().call('KeepNotes', [])).message.count, 0);
});

test('a bidi-streaming method answers while requests still come', async (t) => {
  await using grpc = await startGrpc();
  const chat = grpc.client().open('Chat');
  chat.send({ text: 'one' });
  t.is((await chat.messages.next()).value.text, 'echo one');
  chat.send({ text: 'two' });
  t.is((await chat.messages.next()).value.text, 'echo two');
  chat.end();
  t.true((await chat.messages.next()).done);
  t.is((await chat.answer).code, 'OK');
});

test('a handler that sends and one that yields may both end without any message', async (t) => {
  await using grpc = await startGrpc({ services: [notesService({ Tail: { handle: () => undefined } })] });
  const client = grpc.client();
  for (const method of ['Tail', 'Chat']) {
    const answer = await client.call(method, method === 'Chat' ? [] : {});
    t.deepEqual([answer.code, answer.messages.length], ['OK', 0]);
    t.truthy(answer.metadata['x-request-id']);
  }
});

test('requests are an iterable on methods that have one request, too', async (t) => {
  const handle = async ({ requests }: { requests: AsyncIterable<{ id: string }> }) => {
    const ids = [];
    for await (const { id } of requests) ids.push(id);
    return { note: { text: ids.join() } };
  };
  await using grpc = await startGrpc({ services: [notesService({ GetNote: { handle } })] });
  t.is((await grpc.client().call('GetNote', { id: 'x' })).message.note.text, 'x');
});

test('a unary method takes exactly one request', async (t) => {
  await using grpc = await startGrpc();
  const client = grpc.client();
  const none = await client.call('GetNote', []);
  t.deepEqual([none.code, none.metadata['svc-error-code']], ['INVALID_ARGUMENT', 'request.invalid']);
  const two = await client.call('GetNote', [{ id: 'a' }, { id: 'b' }]);
  t.deepEqual([two.code, two.metadata['svc-error-code']], ['INVALID_ARGUMENT', 'request.invalid']);
});

test('handlers that mistake one kind for another are told, and their callers learn nothing', async (t) => {
  await using grpc = await startGrpc({
    services: [
      notesService({
        GetNote: { handle: (call) => call.send({}) },
        KeepNotes: { handle: (call) => call.request },
        Tail: { handle: () => [{ id: 'a' }] },
      }),
    ],
  });
  const client = grpc.client();
  for (const [method, words] of [
    ['GetNote', /sends none/],
    ['KeepNotes', /has requests, not one request/],
    ['Tail', /must return an async iterable/],
  ] as const) {
    const answer = await client.call(method, method === 'KeepNotes' ? [] : {});
    t.is(answer.code, 'INTERNAL');
    t.is(answer.details, 'Something went wrong inside the gateway');
    t.regex(grpc.logs().join(''), words);
  }
});
