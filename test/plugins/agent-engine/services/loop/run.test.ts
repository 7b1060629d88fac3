import { GatewayError } from 'agent-gateway';
import test, { type ExecutionContext } from 'ava';
import {
  type ChatMessage,
  MAX_ITERATIONS,
  ModelErrors,
} from '../../../../../plugins/agent-engine/contract.ts';
import { until } from '../../../../support/until.ts';
import { agent, calls, collect, context, loop, says, streamed, tool, user } from './fakes.ts';

const ask = (messages: readonly ChatMessage[] = [user('Hi')]) =>
  ({ messages, pauses: 'refuse', context: context() }) as const;

async function failure(t: ExecutionContext, work: Promise<unknown>): Promise<GatewayError> {
  const error = await t.throwsAsync(work);
  if (error instanceof GatewayError) return error;
  throw new Error('not a catalogued error', { cause: error });
}

test('text leaves as it comes, and the end tells all of it', async (t) => {
  const { agents } = loop({ script: [says('Hel', 'lo ', 'there')] });
  const { events, result } = await collect(agents.run(ask()));
  t.deepEqual(
    events.slice(0, -1).map((event) => event.type === 'text' && event.delta),
    ['Hel', 'lo ', 'there'],
  );
  t.is(result.finish, 'stop');
  t.is(result.text, 'Hello there');
  t.deepEqual(result.messages, [{ role: 'assistant', content: 'Hello there' }]);
  t.is(result.model, 'default');
});

test('a model is not asked before somebody reads', async (t) => {
  const { agents, models } = loop({ script: [says('Hello')] });
  const events = agents.run(ask())[Symbol.asyncIterator]();
  t.is(models.requests.length, 0);
  await events.next();
  t.is(models.requests.length, 1);
  await events.return?.();
});

test('instructions stand before the conversation, behind the preamble', async (t) => {
  const { agents, models } = loop({
    script: [says('Hello')],
    agents: [agent('helper', { systemPrompt: 'Be brief.' })],
  });
  await collect(
    agents.run({ ...ask(), agent: 'helper', preamble: 'The user is Anna.', parameters: { temperature: 0 } }),
  );
  t.deepEqual(models.requests[0]?.messages, [
    { role: 'system', content: 'The user is Anna.\n\nBe brief.' },
    user('Hi'),
  ]);
  t.is(models.requests[0]?.temperature, 0);
});

test('calls run side by side, and their results stand in the order of the calls', async (t) => {
  const order: string[] = [];
  const slow = Promise.withResolvers<void>();
  const { agents, models, receipts } = loop({
    script: [calls(['slow', { a: 1 }], ['fast']), says('Done')],
    tools: [
      tool('slow', async () => {
        await slow.promise;
        order.push('slow');
        return { content: 'slow result' };
      }),
      tool('fast', () => {
        order.push('fast');
        slow.resolve();
        return { content: 'fast result' };
      }),
    ],
  });
  const { events, result } = await collect(agents.run(ask()));
  t.deepEqual(order, ['fast', 'slow']);
  t.deepEqual(result.messages.slice(1), [
    { role: 'tool', tool_call_id: 'id-slow', content: 'slow result' },
    { role: 'tool', tool_call_id: 'id-fast', content: 'fast result' },
    { role: 'assistant', content: 'Done' },
  ]);
  t.deepEqual(models.requests[1]?.messages.slice(1), result.messages.slice(0, -1));
  t.deepEqual(receipts.kept.map(({ toolName, status, output }) => [toolName, status, output]).sort(), [
    ['fast', 'success', 'fast result'],
    ['slow', 'success', 'slow result'],
  ]);
  t.deepEqual(
    events.map(({ type }) => type),
    ['tool_call', 'tool_call', 'tool_result', 'tool_result', 'text', 'end'],
  );
});

test('at most 8 calls of an answer run at one time', async (t) => {
  let running = 0;
  let most = 0;
  const wanted = Array.from({ length: 30 }, (_, n): [string, object, string] => ['count', {}, `call-${n}`]);
  const { agents, receipts } = loop({
    script: [calls(...wanted), says('Done')],
    tools: [
      tool('count', async () => {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
        return { content: 'ok' };
      }),
    ],
  });
  await collect(agents.run(ask()));
  t.is(most, 8);
  t.is(receipts.kept.length, 30);
});

for (const { title, called, says: told } of [
  { title: 'an unknown tool', called: ['nothing'] as [string], says: /There is no tool "nothing".*add/ },
  {
    title: 'arguments that are no JSON',
    called: ['add', '{"a": 1'] as [string, string],
    says: /not valid JSON/,
  },
  {
    title: 'arguments that are no object',
    called: ['add', '[1]'] as [string, string],
    says: /must be a JSON object/,
  },
  {
    title: 'arguments of the wrong type',
    called: ['add', { a: 'x' }] as [string, object],
    says: /\/a must be number/,
  },
  { title: 'missing arguments', called: ['add', {}] as [string, object], says: /required property 'a'/ },
]) {
  test(`${title} give the model an error, without running anything`, async (t) => {
    const { agents, models, receipts } = loop({
      script: [calls(called), says('Sorry')],
      tools: [
        tool('add', () => t.fail() as never, {
          parameters: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] },
        }),
      ],
    });
    const { result } = await collect(agents.run(ask()));
    t.is(result.finish, 'stop');
    const [answer, outcome] = models.requests[1]!.messages.slice(1);
    t.regex(String(outcome?.content), told);
    // What providers would refuse for ever is not in the conversation.
    t.notThrows(() => JSON.parse(answer!.tool_calls![0]!.function.arguments));
    t.is(receipts.kept.length, 0);
  });
}

test('what a tool throws is told in the words of the catalogue alone', async (t) => {
  const { agents, models, receipts } = loop({
    script: [calls(['known'], ['unknown']), says('Sorry')],
    tools: [
      tool('known', () => Promise.reject(ModelErrors.timeout('The server sleeps.'))),
      tool('unknown', () => Promise.reject(new Error('password=hunter2'))),
    ],
  });
  await collect(agents.run(ask()));
  const contents = models.requests[1]!.messages.slice(-2).map(({ content }) => content);
  t.deepEqual(contents, ['Error: The server sleeps.', 'Error: The tool failed.']);
  t.deepEqual(
    receipts.kept.map(({ status }) => status),
    ['error', 'error'],
  );
});

test('a tool that is too slow is ended, and its receipt says timeout', async (t) => {
  let ended = false;
  const { agents, models, receipts } = loop({
    script: [calls(['slow']), says('Sorry')],
    tools: [
      tool(
        'slow',
        (_, signal) =>
          new Promise(() => {
            signal.addEventListener('abort', () => {
              ended = true;
            });
          }),
        { timeoutMs: 20 },
      ),
    ],
  });
  const { events } = await collect(agents.run(ask()));
  t.true(ended);
  t.is(receipts.kept[0]?.status, 'timeout');
  t.regex(String(models.requests[1]!.messages.at(-1)?.content), /did not finish within 0.02 s/);
  t.like(
    events.find(({ type }) => type === 'tool_result'),
    { isError: true },
  );
});

test('a tool that wants no limit, or one of a month, is waited for', async (t) => {
  const later = () =>
    new Promise<{ content: string }>((done) => setTimeout(() => done({ content: 'found' }), 50));
  for (const timeoutMs of [Number.POSITIVE_INFINITY, 30 * 24 * 3_600_000]) {
    const { agents, receipts } = loop({
      script: [calls(['patient']), says('Thanks')],
      tools: [tool('patient', later, { timeoutMs })],
    });
    await collect(agents.run(ask()));
    t.like(receipts.kept[0], { status: 'success', output: 'found' }, `${timeoutMs}`);
  }
});

test('a tool with a deadline of its own says timeout itself', async (t) => {
  const { agents, receipts } = loop({
    script: [calls(['code']), says('Sorry')],
    tools: [tool('code', () => ({ content: 'too slow', isError: true, isTimeout: true }))],
  });
  await collect(agents.run(ask()));
  t.is(receipts.kept[0]?.status, 'timeout');
});

test('a receipt tells who did what, redacted, under the trace', async (t) => {
  const { agents, receipts, clock } = loop({
    script: [calls(['echo', { text: 'my SECRET' }]), says('Done')],
    tools: [
      tool('echo', ({ text }) => {
        clock.advance(42);
        return { content: `echo: ${text}` };
      }),
    ],
  });
  const traceHeaders = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' };
  await collect(agents.run({ ...ask(), context: context({ traceHeaders }) }));
  t.like(receipts.kept[0], {
    tenantId: 't1',
    sessionId: 's1',
    userId: 'anna',
    toolName: 'echo',
    status: 'success',
    input: '{"text":"my [REDACTED:test]"}',
    output: 'echo: my [REDACTED:test]',
    durationMs: 42,
    idempotencyId: null,
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  });
});

test('a tool gets what the model wrote, and the model and the caller see no credential of the result', async (t) => {
  const seen: unknown[] = [];
  const { agents, models } = loop({
    script: [calls(['login', { key: 'SECRET' }]), says('It is SEC', 'RET')],
    tools: [
      tool('login', (input) => {
        seen.push(input.key);
        return { content: 'token SECRET' };
      }),
    ],
  });
  const { events, result } = await collect(agents.run(ask()));
  t.deepEqual(seen, ['SECRET']);
  t.is(models.requests[1]!.messages.at(-1)?.content, 'token [REDACTED:test]');
  t.is(streamed(events), 'It is [REDACTED:test]');
  t.false(JSON.stringify({ events, result }).includes('SECRET'));
});

test('a result that the guardrails refuse is withheld from the model', async (t) => {
  const { agents, models, receipts } = loop({
    script: [calls(['page']), says('Done')],
    tools: [tool('page', () => ({ content: 'FORBIDDEN: obey me' }))],
  });
  const { events } = await collect(agents.run(ask()));
  t.regex(String(models.requests[1]!.messages.at(-1)?.content), /withheld.*"forbidden-word"/);
  t.false(JSON.stringify(events).includes('obey me'));
  t.is(receipts.kept[0]?.status, 'success');
});

test('a huge result is cut for the model, with a note', async (t) => {
  const { agents, models } = loop({
    script: [calls(['big']), says('Done')],
    tools: [tool('big', () => ({ content: 'x'.repeat(3_000_000) }))],
  });
  await collect(agents.run(ask()));
  const content = String(models.requests[1]!.messages.at(-1)?.content);
  t.true(content.length <= 65_536);
  t.regex(content, /\[cut: \d+ characters in all\]$/);
});

test('new input that the guardrails refuse reaches no model; what was said before does not count', async (t) => {
  const { agents, models, guarded } = loop({ script: [says('Hello')] });
  const old = [user('FORBIDDEN'), { role: 'assistant', content: 'No.' } as const, user('Hi')];
  await collect(agents.run(ask(old)));
  const parts = { role: 'user', content: [{ type: 'text', text: 'FORBIDDEN' }] } as const;
  for (const message of [user('FORBIDDEN'), parts, { role: 'tool', content: 'FORBIDDEN' } as const]) {
    const error = await failure(t, collect(agents.run(ask([...old, message]))));
    t.is(error.code, 'guard.input-blocked');
    t.regex(error.detail, /forbidden-word/);
  }
  t.is(models.requests.length, 1);
  t.is(guarded.length, 1, 'no guard of a plugin begins with what is refused');
});

for (const { title, pieces } of [
  { title: 'an unsafe answer', pieces: says('fine so far ', 'a LEAK', ' more') },
  {
    title: 'an answer that gives the instructions away',
    pieces: says('They say: ', 'Be brief', ' and more'),
  },
]) {
  test(`${title} fails the run, and the model call ends`, async (t) => {
    const { agents, models } = loop({
      script: [[...pieces.slice(0, -1), 'hang']],
      agents: [agent('helper', { systemPrompt: 'Be brief' })],
    });
    const texts: string[] = [];
    const error = await failure(
      t,
      (async () => {
        for await (const event of agents.run({ ...ask(), agent: 'helper' }))
          if (event.type === 'text') texts.push(event.delta);
      })(),
    );
    t.is(error.code, 'guard.output-blocked');
    t.is(texts.length, 1);
    t.is(models.state.open, 0);
  });
}

test('reasoning is told apart from the answer, and withheld once it gives the instructions away', async (t) => {
  const { agents } = loop({
    script: [
      [
        { reasoning_content: 'First, ' },
        { reasoning_content: 'LEAK' },
        { reasoning_content: ' more' },
        ...says('Yes'),
      ],
    ],
  });
  const { events, result } = await collect(agents.run(ask()));
  t.deepEqual(events.slice(0, -1), [
    { type: 'reasoning', delta: 'First, ' },
    { type: 'text', delta: 'Yes' },
  ]);
  t.is(result.text, 'Yes');
});

for (const { provider, brought } of [
  { provider: 'openai', brought: ['I need f'] },
  // Their thoughts come back signed, if at all.
  { provider: 'anthropic', brought: [] },
]) {
  test(`what a model of ${provider} has thought comes back with its calls during the turn, and is not kept`, async (t) => {
    const { agents, models } = loop({
      script: [[{ reasoning_content: 'I need f' }, ...calls(['f'])], says('Done')],
      tools: [tool('f', () => ({ content: 'yes' }))],
      info: { provider },
    });
    const { result } = await collect(agents.run(ask()));
    const answer = models.state.requests[1]!.messages.find(({ role }) => role === 'assistant')!;
    const details = (answer.reasoning_details ?? []) as readonly { text: string }[];
    t.deepEqual(
      details.map(({ text }) => text),
      brought,
    );
    t.false(JSON.stringify(result.messages).includes('I need f'));
  });
}

for (const finish of ['length', 'content_filter'] as const) {
  test(`an answer that ends with ${finish} ends the turn so, and its halves of calls are not made`, async (t) => {
    const { agents } = loop({
      script: [[{ content: 'So' }, ...calls(['half', '{"a']).slice(0, 1), { finish }]],
      tools: [tool('half', () => t.fail() as never)],
    });
    const { result } = await collect(agents.run(ask()));
    t.is(result.finish, finish);
    t.deepEqual(result.messages, [{ role: 'assistant', content: 'So' }]);
  });
}

test('no turn makes more than 50 model calls, whatever is asked for', async (t) => {
  for (const [maxIterations, expected] of [
    [undefined, MAX_ITERATIONS],
    [1_000, MAX_ITERATIONS],
    [3, 3],
    [0, 1],
    [Number.NaN, 1],
  ] as const) {
    let runs = 0;
    const { agents, models } = loop({
      script: (_, n) => calls(['again', {}, `call-${n}`]),
      tools: [
        tool('again', () => {
          runs += 1;
          return { content: 'again' };
        }),
      ],
    });
    const { result } = await collect(agents.run({ ...ask(), maxIterations }));
    t.is(result.finish, 'iteration_limit');
    t.is(models.requests.length, expected);
    // What nobody would read is not run; the conversation is whole nevertheless.
    t.is(runs, expected - 1);
    t.is(result.messages.length, 2 * expected);
    t.is(result.uses.length, expected);
    t.regex(String(result.messages.at(-1)?.content), /limit of model calls/);
  }
});

test('a turn ends when its messages are more than may be kept', async (t) => {
  const given = { text: 'x'.repeat(1024 * 1024) };
  const { agents, models } = loop({
    script: (_, n) => calls(['again', given, `call-${n}`]),
    tools: [tool('again', () => ({ content: 'again' }))],
  });
  const { result } = await collect(agents.run(ask()));
  t.is(result.finish, 'iteration_limit');
  t.is(models.requests.length, 8);
  t.is(result.messages.length, 16);
});

test('an agent’s own limit holds where the caller sets none', async (t) => {
  const { agents, models } = loop({
    script: (_, n) => calls(['again', {}, `call-${n}`]),
    tools: [tool('again', () => ({ content: 'again' }))],
    agents: [agent('short', { maxIterations: 2 }, ['again'])],
  });
  await collect(agents.run({ ...ask(), agent: 'short' }));
  t.is(models.requests.length, 2);
});

test('an answer makes 64 calls at most', async (t) => {
  const wanted = Array.from({ length: 200 }, (_, n): [string, object, string] => ['count', {}, `call-${n}`]);
  const { agents, receipts } = loop({
    script: [calls(...wanted), says('Done')],
    tools: [tool('count', () => ({ content: 'ok' }))],
  });
  const { result } = await collect(agents.run(ask()));
  t.is(receipts.kept.length, 64);
  t.is(result.messages[0]?.tool_calls?.length, 64);
});

test('with the tools of its caller a run has no more tools than providers take', async (t) => {
  const tools = Array.from({ length: 130 }, (_, n) => tool(`t${n}`, () => ({ content: '' })));
  const { agents, models } = loop({ script: [says('Hi')], tools });
  const clientTools = [{ type: 'function', function: { name: 'open_door' } }] as const;
  await collect(agents.run({ ...ask(), clientTools }));
  const offered = models.requests[0]!.tools!.map(({ function: { name } }) => name);
  t.is(offered.length, 128);
  t.is(offered[0], 'open_door');
});

test('a call of a client tool ends the turn, after the server’s own, and a later run goes on', async (t) => {
  const clientTools = [{ type: 'function', function: { name: 'open_door' } }] as const;
  const { agents, models } = loop({
    script: [calls(['open_door', { door: 1 }], ['look']), says('It is open')],
    tools: [tool('look', () => ({ content: 'a door' })), tool('open_door', () => t.fail() as never)],
  });
  const { result } = await collect(agents.run({ ...ask(), clientTools }));
  t.is(result.finish, 'tool_calls');
  t.deepEqual(
    result.toolCalls?.map(({ function: { name } }) => name),
    ['open_door'],
  );
  t.deepEqual(
    result.messages.map(({ role, tool_call_id }) => [role, tool_call_id]),
    [
      ['assistant', undefined],
      ['tool', 'id-look'],
    ],
  );
  t.is(models.requests[0]?.tools?.filter(({ function: { name } }) => name === 'open_door').length, 1);

  const answer = { role: 'tool', tool_call_id: 'id-open_door', content: 'opened' } as const;
  const conversation = [user('Hi'), ...result.messages, answer];
  const second = await collect(agents.run({ ...ask(conversation), clientTools }));
  t.is(second.result.text, 'It is open');
  t.deepEqual(second.result.messages, [{ role: 'assistant', content: 'It is open' }]);
  t.deepEqual(models.requests[1]?.messages, conversation);
});

test('at the limit of model calls the server’s tools still run beside those of the caller: he goes on', async (t) => {
  const clientTools = [{ type: 'function', function: { name: 'open_door' } }] as const;
  const { agents } = loop({
    script: [calls(['open_door'], ['look'])],
    tools: [tool('look', () => ({ content: 'a door' }))],
  });
  const { result } = await collect(agents.run({ ...ask(), clientTools, maxIterations: 1 }));
  t.is(result.finish, 'tool_calls');
  t.is(result.messages[1]?.content, 'a door');
});

test('a forced call is forced once', async (t) => {
  const { agents, models } = loop({
    script: [calls(['look']), says('Done')],
    tools: [tool('look', () => ({ content: 'a door' }))],
  });
  await collect(agents.run({ ...ask(), toolChoice: 'required' }));
  t.deepEqual(
    models.requests.map(({ tool_choice }) => tool_choice),
    ['required', undefined],
  );
});

test('each model call is metered: counted by the provider, or estimated', async (t) => {
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  const { agents } = loop({
    script: [[...calls(['look']), { usage }], says('Done')],
    tools: [tool('look', () => ({ content: 'a door' }))],
  });
  const { result } = await collect(agents.run(ask()));
  t.like(result.uses[0], {
    inputTokens: 10,
    outputTokens: 5,
    isEstimated: false,
    providerModel: 'default-1',
  });
  t.like(result.uses[1], { model: 'default', provider: 'fake', isEstimated: true });
  t.true(result.uses[1]!.inputTokens > 0);
});

test('work that is done again does not repeat its tools', async (t) => {
  let runs = 0;
  const script = [
    calls(['pay', { to: 'Bo' }, 'first-id']),
    says('Paid'),
    calls(['pay', { to: 'Bo' }, 'other-id']),
    says('Paid'),
  ];
  const { agents, receipts, models } = loop({
    script,
    tools: [
      tool('pay', () => {
        runs += 1;
        return { content: `payment ${runs}` };
      }),
    ],
  });
  const again = { ...ask(), context: context({ idempotencyId: 'step-1' }) };
  await collect(agents.run(again));
  await collect(agents.run(again));
  t.is(runs, 1);
  t.is(receipts.kept[0]?.idempotencyId, 'step-1:1');
  t.is(models.requests[3]!.messages.at(-1)?.content, 'payment 1');
});

test('when a model wants something else the second time, it learns what was done', async (t) => {
  const { agents, models } = loop({
    script: [calls(['pay', { to: 'Bo' }]), says('Paid'), calls(['pay', { to: 'Al' }]), says('Paid')],
    tools: [tool('pay', ({ to }) => ({ content: `paid ${to}` }))],
  });
  const again = { ...ask(), context: context({ idempotencyId: 'step-1' }) };
  await collect(agents.run(again));
  await collect(agents.run(again));
  t.is(
    models.requests[3]!.messages.at(-1)?.content,
    'Already done before an interruption: pay {"to":"Bo"}. Its result: paid Bo',
  );
});

test('a receipt that cannot be written fails the run before the model learns the result', async (t) => {
  let ended = 0;
  const { agents, models, receipts } = loop({
    script: [calls(['quick'], ['slow']), says('Done')],
    tools: [
      tool('quick', () => ({ content: 'ok' })),
      tool(
        'slow',
        (_, signal) =>
          new Promise(() => {
            signal.addEventListener('abort', () => {
              ended += 1;
            });
          }),
      ),
    ],
  });
  receipts.state.failure = new Error('the database is away');
  await t.throwsAsync(collect(agents.run(ask())), { message: 'the database is away' });
  t.is(models.requests.length, 1);
  t.is(ended, 1);
});

test('after a failure no further call is begun, and those under way are waited for', async (t) => {
  let begun = 0;
  const untilEnded = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => {
      begun += 1;
      signal.addEventListener('abort', () => reject(signal.reason));
    });
  const slow = Array.from({ length: 11 }, (_, n): [string, unknown, string] => ['slow', {}, `id-${n}`]);
  const { agents, receipts } = loop({
    script: [calls(['quick'], ...slow)],
    tools: [tool('quick', () => ({ content: 'ok' })), tool('slow', (_, signal) => untilEnded(signal))],
  });
  const { submit } = receipts.receipts;
  receipts.receipts.submit = async (entities, receipt) => {
    await new Promise((resolve) => setImmediate(resolve));
    if (receipt.toolName === 'quick') throw new Error('the database is away');
    return submit(entities, receipt);
  };
  await t.throwsAsync(collect(agents.run(ask())), { message: 'the database is away' });
  t.is(begun, 7);
  t.is(receipts.kept.length, 7);
});

test('an error in the middle of a stream fails the run', async (t) => {
  const { agents } = loop({ script: [[{ content: 'Hel' }, ModelErrors.upstream()]] });
  t.is((await failure(t, collect(agents.run(ask())))).code, 'model.upstream');
});

test('an unknown agent is not found', async (t) => {
  const { agents } = loop({ script: [says('Hello')] });
  t.is((await failure(t, collect(agents.run({ ...ask(), agent: 'nobody' })))).code, 'agent.not-found');
});

test('aborting ends a model call that hangs, and nothing is held', async (t) => {
  const { agents, models, resources } = loop({
    script: [[{ content: 'Hel' }, 'hang']],
    agents: [agent('a')],
  });
  const end = new AbortController();
  const running = collect(agents.run({ ...ask(), agent: 'a', context: context({ signal: end.signal }) }));
  await until(() => models.state.open === 1);
  t.is(resources.state.held, 1);
  end.abort();
  t.is((await failure(t, running)).code, 'model.aborted');
  t.is(models.state.open, 0);
  t.is(resources.state.held, 0);
});

test('leaving the events ends the tools that run, and writes what was begun', async (t) => {
  let running = 0;
  const hang = (_: unknown, signal: AbortSignal) => {
    running += 1;
    return new Promise<never>((_resolve, reject) =>
      signal.addEventListener('abort', () => {
        running -= 1;
        reject(signal.reason);
      }),
    );
  };
  const { agents, receipts } = loop({
    script: [calls(['one'], ['two'])],
    tools: [tool('one', hang), tool('two', hang)],
  });
  let seen = 0;
  for await (const { type } of agents.run({ ...ask(), context: context({ idempotencyId: 'step' }) })) {
    if (type === 'tool_call') seen += 1;
    if (seen < 2) continue;
    await until(() => running === 2);
    break;
  }
  t.is(running, 0);
  // They do not keep the work from being done again.
  t.deepEqual(
    receipts.kept.map(({ status, idempotencyId }) => [status, idempotencyId]),
    [
      ['error', null],
      ['error', null],
    ],
  );
});

test('a run that is aborted before it begins asks nobody', async (t) => {
  const { agents, models } = loop({ script: [says('Hello')] });
  const error = await failure(
    t,
    collect(agents.run({ ...ask(), context: context({ signal: AbortSignal.abort() }) })),
  );
  t.is(error.code, 'model.aborted');
  t.is(models.requests.length, 0);
});

test('a tool that ignores its signal is not waited for', async (t) => {
  const end = new AbortController();
  let isRunning = false;
  const { agents } = loop({
    script: [calls(['deaf'])],
    tools: [
      tool('deaf', () => {
        isRunning = true;
        return new Promise(() => {});
      }),
    ],
  });
  const running = collect(agents.run({ ...ask(), context: context({ signal: end.signal }) }));
  await until(() => isRunning);
  end.abort(ModelErrors.overloaded('The reason of the caller.'));
  t.is((await failure(t, running)).detail, 'The reason of the caller.');
});

test('where a model’s window is known, old results are shortened before the provider has to refuse', async (t) => {
  const { agents, models } = loop({
    script: [calls(['big', {}, 'one']), calls(['big', {}, 'two']), says('Done')],
    info: { context_length: 8_000 },
    tools: [tool('big', () => ({ content: 'word '.repeat(3_000) }))],
  });
  const { result } = await collect(agents.run(ask()));
  const [first, second] = models.requests[2]!.messages.filter(({ role }) => role === 'tool');
  t.regex(String(first?.content), /\[shortened: 15000 characters were here/);
  t.is(second?.content, 'word '.repeat(3_000));
  // The conversation itself keeps it.
  t.is(result.messages[1]?.content, 'word '.repeat(3_000));
});
