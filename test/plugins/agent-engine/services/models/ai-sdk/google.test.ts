import test from 'ava';
import { google } from '../../../../../support/fake-google.ts';
import { startFakeProvider } from '../../../../../support/fake-provider.ts';
import { API_KEY, ask, collect, context, failureOf, textOf } from '../calls.ts';
import { clientOf, warningsOf } from './clients.ts';

const CLOCK = { type: 'function', function: { name: 'clock' } } as const;

test('a conversation reaches Google in its own format', async (t) => {
  await using provider = await startFakeProvider(google());
  await using client = await clientOf('google', provider.url);
  const call = { id: 'c1', type: 'function', function: { name: 'clock', arguments: '' } } as const;
  await client.complete(
    {
      model: 'gemini-2.5-flash',
      messages: [
        { role: 'user', content: 'What time is it?' },
        { role: 'assistant', tool_calls: [call] },
        { role: 'tool', tool_call_id: 'c1', content: 'noon' },
        // Google has one place for what the system says.
        { role: 'developer', content: 'Be brief.' },
      ],
      max_completion_tokens: 50,
      top_p: 0.9,
      seed: 7,
      tools: [CLOCK],
      tool_choice: { type: 'function', function: { name: 'clock' } },
    },
    context(),
  );
  const [request] = provider.requests;
  t.is(request?.path, '/v1/models/gemini-2.5-flash:generateContent');
  t.is(request?.headers['x-goog-api-key'], API_KEY);
  t.like(request?.body, {
    systemInstruction: { parts: [{ text: 'Be brief.' }] },
    generationConfig: { maxOutputTokens: 50, topP: 0.9, seed: 7 },
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['clock'] } },
  });
  t.is(request?.body.tools[0].functionDeclarations[0].name, 'clock');
  t.deepEqual(
    request?.body.contents.map(({ role }: { role: string }) => role),
    ['user', 'model', 'user'],
  );
  t.is(request?.body.contents[1].parts[0].functionCall.name, 'clock');
  t.is(request?.body.contents[2].parts[0].functionResponse.name, 'clock');
});

test('text and thoughts come whole and streamed, with the same counts', async (t) => {
  const parts = [{ text: 'Hm.', thought: true }, { text: 'It is ' }, { text: 'noon.' }];
  const usageMetadata = {
    promptTokenCount: 20,
    candidatesTokenCount: 4,
    thoughtsTokenCount: 3,
    cachedContentTokenCount: 12,
    totalTokenCount: 27,
  };
  await using provider = await startFakeProvider(google({ parts, usageMetadata }));
  await using client = await clientOf('google', provider.url);
  const usage = {
    prompt_tokens: 20,
    completion_tokens: 7,
    total_tokens: 27,
    prompt_tokens_details: { cached_tokens: 12 },
    completion_tokens_details: { reasoning_tokens: 3 },
  };
  const completion = await client.complete(ask(), context());
  t.like(completion.choices[0], { finish_reason: 'stop' });
  t.like(completion.choices[0]?.message, { content: 'It is noon.', reasoning_content: 'Hm.' });
  t.deepEqual(completion.usage, usage);
  const chunks = await collect(client.stream(ask(), context()));
  t.is(textOf(chunks), 'It is noon.');
  t.is(chunks[1]?.choices[0]?.delta.reasoning_content, 'Hm.');
  t.deepEqual(chunks.at(-1)?.usage, usage);
});

test('counts that are none do not spoil an answer', async (t) => {
  const usageMetadata = { promptTokenCount: -3, candidatesTokenCount: 1.5, totalTokenCount: 1 };
  await using provider = await startFakeProvider(google({ parts: [{ text: 'Hi' }], usageMetadata }));
  await using client = await clientOf('google', provider.url);
  t.is((await client.complete(ask(), context())).usage, undefined);
  const chunks = await collect(client.stream(ask(), context()));
  t.is(textOf(chunks), 'Hi');
  t.true(chunks.every(({ usage }) => usage === undefined));
});

test('the signature of a call travels with the call, and goes back to Google', async (t) => {
  const functionCall = { name: 'clock', args: { zone: 'UTC' } };
  await using provider = await startFakeProvider(
    google({ parts: [{ functionCall, thoughtSignature: 'sig-g' }] }),
    google({ parts: [{ functionCall, thoughtSignature: 'sig-g' }] }),
    google(),
  );
  await using client = await clientOf('google', provider.url);
  const request = ask('Time?', { tools: [CLOCK] });
  const { message, finish_reason } = (await client.complete(request, context())).choices[0]!;
  t.is(finish_reason, 'tool_calls');
  const [call] = message.tool_calls!;
  t.is(call?.function.arguments, '{"zone":"UTC"}');
  const chunks = await collect(client.stream(request, context()));
  const pieces = chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
  t.is(pieces.map((piece) => piece.function?.arguments ?? '').join(''), '{"zone":"UTC"}');
  // As Google's own server for OpenAI's clients has it: the AI SDK looks for it there, in the first piece.
  const extra = { google: { thought_signature: 'sig-g' } };
  t.deepEqual(call?.extra_content, extra);
  t.deepEqual(
    pieces.map(({ extra_content }) => extra_content),
    [extra, undefined],
  );
  t.true(
    pieces.every((piece) => piece.function !== undefined),
    'the AI SDK refuses a piece without a function',
  );
  const result = { role: 'tool', tool_call_id: call!.id, content: 'noon' };
  const stored = { ...call!, extra_content: { google: { thoughtSignature: 'sig-g' } } };
  for (const brought of [call!, stored]) {
    const messages = [...request.messages, { ...message, tool_calls: [brought] }, result];
    await client.complete({ ...request, messages }, context());
    t.is(provider.requests.at(-1)?.body.contents[1].parts[0].thoughtSignature, 'sig-g');
  }
});

test('a stream that ends without a finish reason is a failure', async (t) => {
  await using provider = await startFakeProvider(google({ finishReason: '' }));
  await using client = await clientOf('google', provider.url);
  const error = await failureOf(t, collect(client.stream(ask(), context())));
  t.is(error.code, 'model.upstream');
});

test('what Google does not do is logged once, and never silently lost', async (t) => {
  await using provider = await startFakeProvider(google());
  const { log, warnings } = warningsOf();
  await using client = await clientOf('google', provider.url, { log });
  const messages = [{ role: 'user', content: 'Hi', name: 'ada' }];
  const request = ask('Hi', { messages, logit_bias: { 1: 2 }, presence_penalty: 1 });
  await client.complete(request, context());
  await collect(client.stream(request, context()));
  const expected = ['logit_bias', 'presencePenalty', 'the name of a message'];
  t.deepEqual(
    warnings.sort(),
    expected.map((feature) => `unsupported: ${feature}`),
  );
});

test('parts that Google cannot be sent are all named, before anything is sent', async (t) => {
  await using provider = await startFakeProvider(google());
  await using client = await clientOf('google', provider.url);
  const error = await failureOf(
    t,
    client.complete(
      {
        model: 'm',
        messages: [
          {
            role: 'user',
            content: [
              { type: 'image_url', image_url: { url: 'http://127.0.0.1/secret.png' } },
              { type: 'hologram' },
            ],
          },
          { role: 'tool', tool_call_id: 'unknown', content: 'x' },
        ],
      },
      context(),
    ),
  );
  t.is(error.code, 'model.rejected');
  t.deepEqual(
    error.extras.errors?.map(({ pointer }) => pointer),
    ['/body/messages/0/content/0', '/body/messages/0/content/1', '/body/messages/1/tool_call_id'],
  );
  t.is(provider.requests.length, 0);
});
