import { Ajv } from 'ajv';
import test from 'ava';
import { systemClock } from '../../../../../foundation/base/clock.ts';
import { createIds } from '../../../../../foundation/base/ids.ts';
import type {
  ChatMessage,
  ChatRequest,
  ToolDefinition,
} from '../../../../../plugins/agent-engine/contract.ts';
import { createDemoModel } from '../../../../../plugins/agent-engine/services/models/demo-model.ts';
import { ask, collect, context, failureOf, textOf } from './calls.ts';

const clock = { ...systemClock, now: () => 1_700_000_000_000 };
const demo = createDemoModel({ clock, ids: createIds(clock), chunkDelayMs: 0 });

const CALCULATOR = tool('calculator', {
  type: 'object',
  properties: { expression: { type: 'string' } },
  required: ['expression'],
});
const CURRENT_TIME = tool('current_time', { type: 'object', properties: { timezone: { type: 'string' } } });

function tool(name: string, parameters?: Record<string, unknown>): ToolDefinition {
  return { type: 'function', function: { name, parameters } };
}

async function answer(request: ChatRequest) {
  const { choices, usage } = await demo.complete(request, context());
  const { message, finish_reason } = choices[0]!;
  const calls = message.tool_calls?.map((call) => [call.function.name, JSON.parse(call.function.arguments)]);
  return { text: String(message.content), content: message.content, calls, finish_reason, usage };
}

const turns = (...texts: string[]): ChatMessage[] =>
  texts.map((content, index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content }));

const ANSWERS: [string, ChatRequest, RegExp][] = [
  ['greets', ask('Hello there'), /^Hello!/],
  ['repeats what it was told', ask('The sky is blue'), /"The sky is blue"/],
  ['explains itself', ask('What can you do?'), /LLM_API_URL.*LLM_API_KEY.*LLM_MODEL/],
  [
    'reads content parts',
    ask('', { messages: [{ role: 'user', content: [{ type: 'text', text: 'parts' }] }] }),
    /"parts"/,
  ],
  ['bears an empty conversation', ask('', { messages: [] }), /^Hello!/],
  [
    'remembers',
    ask('', { messages: turns('I like tea', 'ok', 'and rain', 'ok', 'What did I say before?') }),
    /"I like tea", then "and rain"/,
  ],
  ['admits when nothing came before', ask('what did I say?'), /not said anything before/],
  [
    'knows the name it was told',
    ask('', { messages: turns('Hi, my name is Zoë.', 'ok', 'What is my name?') }),
    /Your name is Zoë\./,
  ],
  ['names the tools it was offered', ask('Fine weather', { tools: [CALCULATOR] }), /calculator/],
];
for (const [name, request, expected] of ANSWERS) {
  test(`the demo model ${name}, and says what it is`, async (t) => {
    const { text, finish_reason } = await answer(request);
    t.regex(text, expected);
    t.regex(text, /demo model.*LLM_API_URL/);
    t.is(finish_reason, 'stop');
    t.is((await answer(request)).text, text, 'the same every time');
  });
}

const CALLS: [string, ChatRequest, unknown[][] | undefined][] = [
  [
    'arithmetic with a calculator',
    ask('What is (12 + 3) * 4?', { tools: [CALCULATOR] }),
    [['calculator', { expression: '(12 + 3) * 4' }]],
  ],
  [
    'the calculator, when it is asked for by name',
    ask('use the calculator: what is 17 * 23?', { tools: [CALCULATOR, CURRENT_TIME] }),
    [['calculator', { expression: '17 * 23' }]],
  ],
  [
    'a tool that is named',
    ask('use the current time tool', { tools: [CALCULATOR, CURRENT_TIME] }),
    [['current_time', {}]],
  ],
  ['a question for the time', ask("What's the time?", { tools: [CURRENT_TIME] }), [['current_time', {}]]],
  [
    'several at once',
    ask('calculator: 2+2, and current_time', { tools: [CALCULATOR, CURRENT_TIME] }),
    [
      ['calculator', { expression: '2+2' }],
      ['current_time', {}],
    ],
  ],
  [
    'one at a time where parallel calls are off',
    ask('calculator: 2+2, and current_time', {
      tools: [CALCULATOR, CURRENT_TIME],
      parallel_tool_calls: false,
    }),
    [['calculator', { expression: '2+2' }]],
  ],
  ['nothing that asks for a tool', ask('Good weather on 2025-01-02', { tools: [CALCULATOR] }), undefined],
  ['tool_choice none', ask('calculator: 2+2', { tools: [CALCULATOR], tool_choice: 'none' }), undefined],
  [
    'tool_choice required',
    ask('Hi', { tools: [CURRENT_TIME, CALCULATOR], tool_choice: 'required' }),
    [['current_time', {}]],
  ],
  [
    'tool_choice of a function',
    ask('current_time', {
      tools: [CURRENT_TIME, CALCULATOR],
      tool_choice: { type: 'function', function: { name: 'calculator' } },
    }),
    [['calculator', { expression: 'current_time' }]],
  ],
];
for (const [name, request, expected] of CALLS) {
  test(`tool calls of the demo model: ${name}`, async (t) => {
    const { calls, content, finish_reason } = await answer(request);
    t.deepEqual(calls, expected);
    t.is(finish_reason, expected === undefined ? 'stop' : 'tool_calls');
    if (expected !== undefined) t.is(content, null);
  });
}

test('without parallel calls the demo model makes one call after the other, and then tells all results', async (t) => {
  const tools = [CALCULATOR, CURRENT_TIME];
  const messages: ChatMessage[] = [{ role: 'user', content: 'calculator: 17 * 23, and then current_time' }];
  const request = () => ask('', { messages: [...messages], tools, parallel_tool_calls: false });
  for (const [name, content] of [
    ['calculator', '391'],
    ['current_time', 'noon'],
  ]) {
    const { message } = (await demo.complete(request(), context())).choices[0]!;
    t.deepEqual(
      message.tool_calls?.map((call) => call.function.name),
      [name],
    );
    messages.push(message, { role: 'tool', tool_call_id: message.tool_calls![0]!.id, content });
  }
  const { text, calls } = await answer(request());
  t.is(calls, undefined);
  t.regex(text, /calculator returned: 391\nThe tool current_time returned: noon .*demo model/);
});

test('a tool_choice that cannot be met is refused like by a provider', async (t) => {
  const named = { type: 'function', function: { name: 'nothing' } } as const;
  for (const request of [
    ask('Hi', { tools: [CALCULATOR], tool_choice: named }),
    ask('Hi', { tool_choice: 'required' }),
  ]) {
    const error = await failureOf(t, demo.complete(request, context()));
    t.is(error.code, 'model.rejected');
    t.is(error.extras.param, 'tool_choice');
  }
});

test('after a tool’s result the demo model answers with it, even where a call is required', async (t) => {
  const call = { id: 'call_1', type: 'function', function: { name: 'calculator', arguments: '{}' } } as const;
  const messages: ChatMessage[] = [
    { role: 'user', content: '2+2?' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call_1', content: '4' },
  ];
  const { text, calls } = await answer(ask('', { messages, tools: [CALCULATOR], tool_choice: 'required' }));
  t.is(calls, undefined);
  t.regex(text, /^The tool calculator returned: 4/);
});

test('max_tokens ends the answer with finish_reason length, and is what usage counts', async (t) => {
  for (const limit of [
    { max_tokens: 3 },
    { max_completion_tokens: 3 },
    { max_tokens: 9, max_completion_tokens: 3 },
  ]) {
    const { text, finish_reason, usage } = await answer(ask('Hello', limit));
    t.is(text, 'Hello! Say something,');
    t.is(finish_reason, 'length');
    t.is(usage?.completion_tokens, 3);
    t.is(usage?.total_tokens, usage!.prompt_tokens + 3);
  }
});

test('the answer ends before the first stop sequence', async (t) => {
  t.is((await answer(ask('Hello', { stop: 'something' }))).text, 'Hello! Say ');
  t.is((await answer(ask('Hello', { stop: ['nowhere', '', 'Say', 'ask'] }))).text, 'Hello! ');
});

test('response_format gives JSON', async (t) => {
  const object = await answer(ask('Hi', { response_format: { type: 'json_object' } }));
  t.deepEqual(Object.keys(JSON.parse(object.text)), ['answer', 'note']);
  const schema = { type: 'object', properties: { mood: { enum: ['good', 'bad'] } }, required: ['mood'] };
  const shaped = await answer(
    ask('Hi', { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } }),
  );
  t.deepEqual(JSON.parse(shaped.text), { mood: 'good' });
});

test('a stream joins to the plain answer, word by word, with usage last', async (t) => {
  const request = ask('Tell me about tea', { tools: [CALCULATOR] });
  const chunks = await collect(demo.stream(request, context()));
  const { text, usage } = await answer(request);
  t.is(textOf(chunks), text);
  t.true(chunks.length > 15);
  t.is(chunks[0]?.choices[0]?.delta.role, 'assistant');
  t.is(chunks.at(-2)?.choices[0]?.finish_reason, 'stop');
  t.deepEqual(chunks.at(-1)?.usage, usage);
  t.is(new Set(chunks.map(({ id }) => id)).size, 1);
});

test('streamed tool calls join to whole ones', async (t) => {
  const request = ask('calculator: 2+2, and current_time', { tools: [CALCULATOR, CURRENT_TIME] });
  const chunks = await collect(demo.stream(request, context()));
  const deltas = chunks.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? []);
  const joined = [0, 1].map((index) => {
    const own = deltas.filter((delta) => delta.index === index);
    t.regex(own[0]?.id ?? '', /^call_/);
    return [own[0]?.function?.name, JSON.parse(own.map((delta) => delta.function?.arguments).join(''))];
  });
  t.deepEqual(joined, [
    ['calculator', { expression: '2+2' }],
    ['current_time', {}],
  ]);
  t.is(chunks.at(-2)?.choices[0]?.finish_reason, 'tool_calls');
});

test('an abort ends the pause between two words', async (t) => {
  const slow = createDemoModel({ clock, ids: createIds(clock), chunkDelayMs: 60_000 });
  const caller = new AbortController();
  const failed = failureOf(t, collect(slow.stream(ask(), context(caller.signal))));
  setImmediate(() => caller.abort());
  t.is((await failed).code, 'model.aborted');
  t.is((await failureOf(t, demo.complete(ask(), context(AbortSignal.abort())))).code, 'model.aborted');
  t.is((await failureOf(t, collect(demo.stream(ask(), context(AbortSignal.abort()))))).code, 'model.aborted');
});

const PROMPT = 'Use the tool with 7 and 12.5 at https://example.org/a please, "Ann"';
const SCHEMAS: [string, Record<string, unknown>, unknown][] = [
  ['no schema', {}, {}],
  ['numbers in their order', object({ a: { type: 'number' }, b: { type: 'number' } }), { a: 7, b: 12.5 }],
  ['an integer within bounds', object({ a: { type: 'integer', minimum: 10, maximum: 20 } }), { a: 10 }],
  ['a multiple', object({ a: { type: 'integer', multipleOf: 5, minimum: 6 } }), { a: 10 }],
  [
    'exclusive bounds',
    object({ a: { type: 'number', exclusiveMinimum: 7, exclusiveMaximum: 8 } }),
    { a: 7.5 },
  ],
  ['quoted text', object({ name: { type: 'string' } }), { name: 'Ann' }],
  ['a URL', object({ url: { type: 'string', format: 'uri' } }), { url: 'https://example.org/a' }],
  [
    'a length',
    object({ a: { type: 'string', minLength: 5 }, b: { type: 'string', maxLength: 2 } }),
    { a: 'Ann..', b: 'An' },
  ],
  [
    'enum, const, default',
    object({ a: { enum: ['x', 'Ann'] }, b: { const: 3 }, c: { type: 'string', default: 'd' } }),
    { a: 'Ann', b: 3, c: 'd' },
  ],
  ['a nullable type', object({ a: { type: ['null', 'boolean'] } }), { a: true }],
  ['an array', object({ a: { type: 'array', items: { type: 'integer' }, minItems: 2 } }), { a: [7, 12] }],
  ['a nested object', object({ a: object({ b: { type: 'string' } }) }), { a: { b: 'Ann' } }],
  ['alternatives', object({ a: { anyOf: [{ type: 'null' }, { type: 'integer' }] } }), { a: 7 }],
  ['references', { ...object({ a: { $ref: '#/$defs/n' } }), $defs: { n: { type: 'integer' } } }, { a: 7 }],
  [
    'allOf',
    { allOf: [object({ a: { type: 'integer' } }), object({ b: { type: 'string' } })] },
    { a: 7, b: 'Ann' },
  ],
  ['optional properties left out', { type: 'object', properties: { limit: { type: 'integer' } } }, {}],
  [
    'optional properties that fit exactly',
    { type: 'object', properties: { url: { type: 'string' } } },
    { url: 'https://example.org/a' },
  ],
];
function object(properties: Record<string, unknown>): Record<string, unknown> {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}
for (const [name, schema, expected] of SCHEMAS) {
  test(`arguments satisfy the tool’s schema: ${name}`, async (t) => {
    const { calls } = await answer(ask(PROMPT, { tools: [tool('tool', schema)] }));
    t.deepEqual(calls, [['tool', expected]]);
    const { $defs, allOf, ...rest } = schema;
    // The two parts of the allOf case forbid each other's properties; each is right for itself.
    if (allOf === undefined)
      t.true(new Ajv({ strict: false, formats: { uri: true } }).validate({ $defs, ...rest }, expected));
  });
}

for (const [name, members] of Object.entries({
  'in a list': { children: { type: 'array', items: { $ref: '#' } } },
  'or null': { next: { anyOf: [{ $ref: '#' }, { type: 'null' }] } },
  'of two types': {
    next: {
      ...object({ value: { type: 'string' }, next: { $ref: '#/properties/next' } }),
      type: ['object', 'null'],
    },
  },
}))
  test(`a value of a schema that refers to itself comes to an end: ${name}`, async (t) => {
    const schema = object({ value: { type: 'string' }, ...members });
    const { text } = await answer(
      ask('Hi', { response_format: { type: 'json_schema', json_schema: { name: 'tree', schema } } }),
    );
    t.true(new Ajv({ allowUnionTypes: true }).validate(schema, JSON.parse(text)), text);
  });

test('a schema that describes a huge or endless value costs little', async (t) => {
  const wide = { type: 'array', minItems: 1e9, items: { $ref: '#/$defs/wide' } };
  const endless = { ...object({ a: { $ref: '#' } }), $defs: { wide } };
  const schemas = [
    { ...object({ a: wide }), $defs: { wide } },
    endless,
    { ...object({ a: { $ref: '#/$defs/a' } }), $defs: { a: { $ref: '#/$defs/a' } } },
    object({
      a: { type: 'string', minLength: 1e9, pattern: '^(a+)+$' },
      b: { type: 'string' },
      ['__proto__']: {},
    }),
  ];
  for (const schema of schemas) {
    const { calls } = await answer(ask('tool', { tools: [tool('tool', schema)] }));
    t.true(JSON.stringify(calls).length < 50_000);
  }
});

test('a long hostile prompt costs little', async (t) => {
  const started = performance.now();
  for (const text of ['+', '(', '1 ', '1-', '"', 'what ', '- 1 ', ' ', 'a']) {
    await answer(ask(text.repeat(1_000_000), { tools: [CALCULATOR, CURRENT_TIME] }));
  }
  t.true(performance.now() - started < 10_000);
});

test("tools that are no functions are left alone, also where a conversation brings another provider's calls", async (t) => {
  const tools = [{ type: 'web_search' }] as unknown as ToolDefinition[];
  t.regex((await answer(ask('The sky is blue', { tools }))).text, /"The sky is blue"/);
  const calls = [{ id: 'c', type: 'custom', custom: { name: 'sh' } }] as unknown as ChatMessage['tool_calls'];
  const messages: ChatMessage[] = [
    { role: 'user', content: 'Go' },
    { role: 'assistant', content: null, tool_calls: calls },
    { role: 'tool', tool_call_id: 'c', content: 'done' },
  ];
  t.regex((await answer(ask('', { messages }))).text, /^The tool returned: done/);
});
