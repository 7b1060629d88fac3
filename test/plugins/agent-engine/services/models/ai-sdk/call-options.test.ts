import test from 'ava';
import fc from 'fast-check';
import { renderError } from '../../../../../../foundation/errors/render.ts';
import type { GatewayError } from '../../../../../../kernel/index.ts';
import type { ChatMessage, ChatRequest } from '../../../../../../plugins/agent-engine/contract.ts';
import {
  toCallOptions,
  unknownForms,
} from '../../../../../../plugins/agent-engine/services/models/ai-sdk/call-options.ts';
import { toPrompt } from '../../../../../../plugins/agent-engine/services/models/ai-sdk/prompt.ts';
import { cpuNow } from '../../../../../support/cpu-time.ts';

const NO_URLS = {};
const call = (id: string, args: string) =>
  ({ id, type: 'function', function: { name: `tool-${id}`, arguments: args } }) as const;

test('what the system says comes first, wherever it was said', (t) => {
  const { prompt } = toPrompt(
    [
      { role: 'user', content: 'Hi' },
      {
        role: 'system',
        content: [
          { type: 'text', text: 'A' },
          { type: 'text', text: 'B' },
        ],
      },
      { role: 'developer', content: 'C' },
    ],
    NO_URLS,
  );
  t.deepEqual(
    prompt.map(({ role, content }) => [role, content]),
    [
      ['system', 'A\nB'],
      ['system', 'C'],
      ['user', [{ type: 'text', text: 'Hi' }]],
    ],
  );
});

test('results that follow each other are one message, each with the name of its tool', (t) => {
  const { prompt, problems } = toPrompt(
    [
      { role: 'assistant', content: '', tool_calls: [call('a', '{"x":1}'), call('b', '')] },
      { role: 'tool', tool_call_id: 'b', content: 'two' },
      { role: 'tool', tool_call_id: 'a', content: 'one' },
    ],
    NO_URLS,
  );
  t.deepEqual(problems, []);
  t.is(prompt.length, 2);
  t.deepEqual(prompt[0]?.content as unknown, [
    { type: 'tool-call', toolCallId: 'a', toolName: 'tool-a', input: { x: 1 } },
    { type: 'tool-call', toolCallId: 'b', toolName: 'tool-b', input: {} },
  ]);
  t.deepEqual(prompt[1]?.content as unknown, [
    { type: 'tool-result', toolCallId: 'b', toolName: 'tool-b', output: { type: 'text', value: 'two' } },
    { type: 'tool-result', toolCallId: 'a', toolName: 'tool-a', output: { type: 'text', value: 'one' } },
  ]);
});

for (const broken of ['{"x":', '[1]', '"text"', 'null']) {
  test(`arguments that are no object stay what the model wrote: ${broken}`, (t) => {
    const { prompt } = toPrompt([{ role: 'assistant', tool_calls: [call('a', broken)] }], NO_URLS);
    t.like((prompt[0]!.content as object[])[0], { input: { arguments: broken } });
  });
}

test('a message in which nothing is said is left out', (t) => {
  const { prompt, problems } = toPrompt(
    [
      { role: 'system', content: '' },
      { role: 'user', content: [{ type: 'text', text: '' }] },
      { role: 'assistant', content: null },
      { role: 'user', content: 'Hi' },
    ],
    NO_URLS,
  );
  t.deepEqual(problems, []);
  t.deepEqual(
    prompt.map(({ role }) => role),
    ['user'],
  );
});

test('parts are translated, and what is wrong with one is told with its place', (t) => {
  const cases: [object, object | RegExp][] = [
    [
      { type: 'text', text: 'x' },
      { type: 'text', text: 'x' },
    ],
    [
      { type: 'image_url', image_url: { url: 'data:image/PNG;base64,AAAA' } },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } },
    ],
    [
      { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } },
      { type: 'file', mediaType: 'audio/mpeg', data: { type: 'data', data: 'AAAA' } },
    ],
    [
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } },
      { type: 'file', mediaType: 'application/pdf', filename: 'a.pdf', data: { type: 'data', data: 'AAAA' } },
    ],
    [{ type: 'image_url', image_url: { url: 'data:image/png,AAAA' } }, /not base64/],
    [{ type: 'image_url', image_url: { url: 'file:///etc/passwd' } }, /no data: or http/],
    [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }, /cannot load/],
    [{ type: 'image_url' }, /needs a URL/],
    [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'ogg' } }, /wav or mp3/],
    [{ type: 'file', file: { file_id: 'file-1' } }, /needs file_data/],
    [{ type: 'hologram' }, /does not take/],
  ];
  for (const [part, expected] of cases) {
    const { prompt, problems } = toPrompt([{ role: 'user', content: [part as never] }], NO_URLS);
    if (expected instanceof RegExp) {
      t.is(problems[0]?.pointer, '/messages/0/content/0');
      t.regex(problems[0]!.message, expected);
    } else t.deepEqual(prompt[0]?.content as unknown, [expected]);
  }
});

test('a URL is handed on where the provider loads that type by itself', (t) => {
  const content = [{ type: 'image_url', image_url: { url: 'https://example.com/a.jpg?x=1' } }];
  for (const [type, isTaken] of [
    ['image/*', true],
    ['image/jpeg', true],
    ['*', true],
    ['image/png', false],
    ['video/*', false],
  ] as const) {
    const { problems } = toPrompt([{ role: 'user', content }], { [type]: [/^https:\/\/example\.com\//] });
    t.is(problems.length === 0, isTaken, type);
  }
});

test('a data: URL of a megabyte costs no time', (t) => {
  const start = cpuNow();
  for (const hostile of ['data:image/png;'.padEnd(1 << 20, ';'), `data:${'a'.repeat(1 << 20)}`]) {
    toPrompt([{ role: 'user', content: [{ type: 'image_url', image_url: { url: hostile } }] }], NO_URLS);
  }
  t.true(cpuNow() - start < 500);
});

test('whatever clients write into messages, the conversion does not throw', (t) => {
  const part = fc.record({
    type: fc.constantFrom('text', 'image_url', 'file', 'x'),
    image_url: fc.anything(),
  });
  const message = fc.record({
    role: fc.constantFrom('system', 'user', 'assistant', 'tool', 'other'),
    content: fc.oneof(fc.string(), fc.constant(null), fc.array(part, { maxLength: 3 })),
    tool_call_id: fc.string(),
    reasoning_details: fc.anything(),
    cache_control: fc.anything(),
  });
  fc.assert(
    fc.property(fc.array(message, { maxLength: 5 }), (messages) => {
      const { prompt, problems } = toPrompt(messages as readonly ChatMessage[], NO_URLS);
      return (
        prompt.length <= messages.length && problems.every(({ pointer }) => pointer.startsWith('/messages/'))
      );
    }),
  );
  t.pass();
});

const FUNCTION = { type: 'function', function: { name: 'f', arguments: '{}' } };

/** What clients send is not typed. */
const placesOf = (request: object) =>
  unknownForms({ model: 'm', messages: [], ...request } as ChatRequest).map(({ pointer }) => pointer);

test('functions, their choice and their calls are known, and null is none', (t) => {
  const messages = [
    { role: 'assistant', tool_calls: [{ id: 'a', ...FUNCTION }] },
    { role: 'user', tool_calls: null },
  ];
  t.deepEqual(placesOf({ messages, tools: [FUNCTION], tool_choice: FUNCTION }), []);
  t.deepEqual(placesOf({ tools: null, tool_choice: null, response_format: null }), []);
  t.deepEqual(placesOf({ tool_choice: 'auto', response_format: { type: 'json_object' } }), []);
});

const UNKNOWN: readonly [object, string][] = [
  [{ tools: [FUNCTION, { type: 'web_search' }] }, '/tools/1/type'],
  [{ tools: [{ type: 'function' }] }, '/tools/0/type'],
  [{ tool_choice: { type: 'allowed_tools' } }, '/tool_choice/type'],
  [{ response_format: { type: 'grammar' } }, '/response_format/type'],
  [
    { messages: [{ role: 'assistant', tool_calls: [{ id: 'a', type: 'custom', custom: {} }] }] },
    '/messages/0/tool_calls/0/type',
  ],
];
for (const [request, pointer] of UNKNOWN) {
  test(`${JSON.stringify(request)} is a form that is not known`, (t) =>
    t.deepEqual(placesOf(request), [pointer]));
}

test('a refusal names places as clients of OpenAI know them', (t) => {
  const request = { model: 'm', messages: [], tools: [FUNCTION, { type: 'web_search' }] };
  const error = t.throws(() => toCallOptions(request as unknown as ChatRequest, 'anthropic', NO_URLS));
  t.deepEqual(renderError(error as GatewayError, 'openai', 'r').body, {
    error: {
      message:
        'The conversation holds what this model provider does not take: tools[1].type is a type that this model provider does not take',
      type: 'invalid_request_error',
      param: 'tools[1].type',
      code: 'model.rejected',
    },
  });
});
