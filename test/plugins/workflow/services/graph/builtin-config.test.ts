import test from 'ava';
import type { JsonObject } from '../../../../../plugins/workflow/contract/graph.ts';
import { serviceMethod } from '../../../../../plugins/workflow/services/graph/builtin-config.ts';
import { configProblems } from './kit.ts';

/** A configuration, and its problems as `rule pointer`. */
type Row = readonly [title: string, type: string, config: JsonObject, problems: readonly string[]];

const agent = (title: string, config: JsonObject, ...problems: readonly string[]): Row => [
  ...([title, 'agent_task', config, problems] as const),
];
const service = (title: string, config: JsonObject, ...problems: readonly string[]): Row => [
  ...([title, 'service_task', { url: 'https://a.example/', ...config }, problems] as const),
];
const human = (title: string, config: JsonObject, ...problems: readonly string[]): Row => [
  ...([title, 'human_task', config, problems] as const),
];
const copy = (title: string, config: JsonObject, ...problems: readonly string[]): Row => [
  ...([title, 'files/copy', { fetch: 'a', ...config }, problems] as const),
];

const headers = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, 'y']));

const ROWS: readonly Row[] = [
  agent('a prompt', { prompt: 'Go' }),
  agent('all members', { prompt: 'Go', agent: 'writer', model: 'fast', max_iterations: 50 }),
  agent('an empty prompt', { prompt: '' }, 'config-invalid /prompt'),
  agent('a blank prompt', { prompt: ' \n' }, 'config-invalid /prompt'),
  agent('a prompt that is a number', { prompt: 5 }, 'config-invalid /prompt'),
  agent(
    'a prompt that is a number, and a model from the data',
    { prompt: 5, model: '{{input.model}}' },
    'config-invalid /prompt',
    'template /model',
  ),
  agent(
    'no prompt, and an agent from the data',
    { agent: '{{x}}' },
    'config-missing /prompt',
    'template /agent',
  ),
  agent('no iterations', { prompt: 'Go', max_iterations: 0 }, 'config-invalid /max_iterations'),
  agent('half an iteration', { prompt: 'Go', max_iterations: 1.5 }, 'config-invalid /max_iterations'),
  agent('iterations as text', { prompt: 'Go', max_iterations: '5' }, 'config-invalid /max_iterations'),
  agent('a model from the data', { prompt: 'Go', model: '{{input.model}}' }, 'template /model'),
  agent('an agent from the data', { prompt: 'Go', agent: '{{input.agent}}' }, 'template /agent'),

  service('a URL', {}),
  service('64 headers', { headers: headers(64) }),
  service('65 headers', { headers: headers(65) }, 'config-invalid /headers'),
  service('a URL from the data', { url: '{{input.url}}' }),
  service('a URL with templates in path and query', { url: 'HTTP://a.example/{{input.a}}?b={{input.b}}' }),
  service('a host from the data', { url: 'https://{{input.host}}/a' }),
  service('a part of a host and a port from the data', {
    url: 'https://{{input.a}}.example:{{input.port}}/',
  }),
  service('a base URL from the data with more after it', { url: '{{input.base}}/a' }, 'url /url'),
  service('a scheme from the data', { url: '{{input.scheme}}://a.example' }, 'url /url'),
  service('a URL without scheme', { url: 'a.example/b' }, 'url /url'),
  service('a relative URL', { url: '/b' }, 'url /url'),
  service('a URL of a file', { url: 'file:///etc/passwd' }, 'url /url'),
  service('a URL that is none', { url: 'https://a b/' }, 'url /url'),
  service('a URL that is none before its template', { url: 'https://a b/{{input.a}}' }, 'url /url'),
  service('a URL with a password', { url: 'https://a:b@c.example/' }, 'url /url'),
  service('a URL with a user before a template', { url: 'https://a@c.example/{{input.a}}' }, 'url /url'),
  service('a URL with a bad template', { url: 'https://a.example/{{id}}' }, 'template /url'),
  service('an empty URL', { url: '' }, 'config-invalid /url'),
  service('a method in lower case', { method: 'put' }),
  service('a method from the data', { method: '{{input.method}}' }),
  service('a method from the data in part', { method: 'P{{input.rest}}' }),
  service('an unknown method', { method: 'TRACE' }, 'method /method'),
  service('an empty method', { method: '' }, 'method /method'),
  service('a body of any kind', { body: ['{{input.a}}', 1, null] }),
  service('a body that is a template', { method: 'POST', body: '{{steps.x.output}}' }),
  service('a body with GET', { method: 'get', body: {} }, 'config-invalid /body'),
  service('a body with HEAD', { method: 'HEAD', body: null }, 'config-invalid /body'),
  service('headers', { headers: { 'X-Id': '{{input.id}}', accept: 'text/plain\t; q=1' } }),
  service('a header that is a number', { headers: { a: 1 } }, 'config-invalid /headers/a'),
  service('headers that are a list', { headers: [] }, 'config-invalid /headers'),
  service('a header with a space in its name', { headers: { 'a b': 'c' } }, 'config-invalid /headers/a b'),
  service('a header without name', { headers: { '': 'c' } }, 'config-invalid /headers/'),
  service(
    'a header named by a template',
    { headers: { '{{input.a}}': 'c' } },
    'config-invalid /headers/{{input.a}}',
  ),
  service('a header of two lines', { headers: { a: 'b\r\nc: d' } }, 'config-invalid /headers/a'),
  service('a host header', { headers: { Host: 'b' } }, 'config-invalid /headers/Host'),
  service('the length', { headers: { 'Content-Length': '3' } }, 'config-invalid /headers/Content-Length'),
  service('characters that no header can hold', { headers: { a: 'Łukasz' } }, 'config-invalid /headers/a'),
  service('characters of ISO 8859-1 in a header', { headers: { a: 'Zoë \u00ff' } }),
  service(
    'characters that no header can hold beside a template',
    { headers: { a: 'Ł{{input.a}}' } },
    'config-invalid /headers/a',
  ),
  service('a header that is a template', { headers: { a: '{{input.łukasz}}' } }),
  service(
    'faults that the schema sees and faults that it does not',
    { url: 'ftp://x', method: 'FETCH', headers: { 'a b': 'x', Host: 'y', X: 5 }, body: '{{oops}}' },
    'config-invalid /headers/X',
    'template /body',
    'url /url',
    'method /method',
    'config-invalid /headers/a b',
    'config-invalid /headers/Host',
  ),
  service(
    'a URL that is a number, once',
    { url: 7, method: 'FETCH' },
    'config-invalid /url',
    'method /method',
  ),
  service('a slash in a pointer', { headers: { 'a/b~': 'c' } }, 'config-invalid /headers/a~1b~0'),

  human('nothing', {}),
  human('all members', { assignee: 'role:auditor', instructions: 'Look at {{input.a}}', timeout: '7d' }),
  human('an assignee from the data', { assignee: '{{input.who}}' }),
  human('an empty assignee', { assignee: '' }),
  human('a role without name', { assignee: 'role:' }, 'config-invalid /assignee'),
  human('an assignee that is a list', { assignee: ['a'] }, 'config-invalid /assignee'),
  human('a timeout of nothing', { timeout: '0s' }, 'duration /timeout'),
  human('a timeout of 11 years', { timeout: '4015d' }, 'duration /timeout'),
  human('a timeout that is a number', { timeout: 30 }, 'config-invalid /timeout'),
  human('a timeout from the data', { timeout: '{{input.time}}' }, 'duration /timeout'),
  human('a bare number is seconds', { timeout: '90' }),
  human(
    'an assignee that is a number, and a bad timeout',
    { assignee: 7, timeout: 'soon' },
    'config-invalid /assignee',
    'duration /timeout',
  ),
  human(
    'instructions that are a number, a role without name and a misspelt member',
    { instructions: 7, assignee: 'role:', timout: '1h' },
    'config-unknown /timout',
    'config-invalid /instructions',
    'config-invalid /assignee',
  ),
  human('bad instructions', { instructions: '{{who}}' }, 'template /instructions'),

  agent('a retry', {
    prompt: 'Go',
    retry: { max_attempts: 1, delay: '0s', backoff: 'fixed', max_delay: '1m' },
  }),
  agent('a retry that is a number', { prompt: 'Go', retry: 3 }, 'retry /retry'),
  agent('a retry that is null', { prompt: 'Go', retry: null }, 'retry /retry'),
  agent('a retry without attempts', { prompt: 'Go', retry: {} }, 'retry /retry/max_attempts'),
  agent('no attempts', { prompt: 'Go', retry: { max_attempts: 0 } }, 'retry /retry/max_attempts'),
  agent(
    'an unknown backoff',
    { prompt: 'Go', retry: { max_attempts: 2, backoff: 'x' } },
    'retry /retry/backoff',
  ),
  agent(
    'an unknown member of a retry',
    { prompt: 'Go', retry: { max_attempts: 2, maxDelay: '1s' } },
    'retry /retry/maxDelay',
  ),
  agent(
    'a negative delay',
    { prompt: 'Go', retry: { max_attempts: 2, delay: '-1s' } },
    'duration /retry/delay',
  ),
  agent(
    'a delay that is a number',
    { prompt: 'Go', retry: { max_attempts: 2, delay: 1 } },
    'retry /retry/delay',
  ),
  agent(
    'a longest delay that is too short',
    { prompt: 'Go', retry: { max_attempts: 2, delay: '2s', max_delay: '1s' } },
    'retry /retry/max_delay',
  ),

  copy('a plugin’s type', { raw: '{{anything', size: 3, tags: ['a', 'b'] }),
  copy('a plugin’s type with a retry', { retry: { max_attempts: 2 } }),
  copy('what a plugin’s schema refuses', { size: 0 }, 'config-invalid /size'),
  copy('what a plugin’s pattern refuses', { tags: ['a', 'B'] }, 'config-invalid /tags/1'),
  copy('what a plugin’s schema does not know', { rwa: '' }, 'config-unknown /rwa'),
  copy('what a plugin’s check refuses', { raw: 'forbidden' }, 'files.forbidden /raw'),
  copy(
    'what both a plugin’s schema and its check refuse',
    { size: 0, raw: 'forbidden', tags: ['A'] },
    'config-invalid /size',
    'config-invalid /tags/0',
    'files.forbidden /raw',
  ),
  copy('a bad template of a plugin’s type', { fetch: 'x{{y}}' }, 'template /fetch'),
  copy('what is no template of a plugin’s type', { raw: '{{y}}' }),
];

for (const [title, type, config, expected] of ROWS) {
  test(`${type}: ${title} ${expected.length === 0 ? 'is fine' : 'is refused'}`, (t) => {
    const found = configProblems(type, config);
    t.deepEqual(
      found.map(({ problem }) => problem),
      expected,
      JSON.stringify(found),
    );
  });
}

const MESSAGES: readonly (readonly [type: string, config: JsonObject, message: RegExp])[] = [
  ['agent_task', { prompt: '' }, /^Node "x" \(agent_task\): config\/prompt must not be empty\.$/],
  [
    'agent_task',
    { prompt: 'Go', modle: 'a' },
    /config\/modle is not known\. Did you mean "model"\? Known are prompt, agent/,
  ],
  [
    'service_task',
    { url: 'http://a', Retry: { max_attempts: 3 } },
    /config\/Retry is not known\. Did you mean "retry"\? Known are url, .*, secret_headers, retry\.$/,
  ],
  ['human_task', { form: 'a' }, /Known are assignee, instructions, timeout\.$/],
  ['service_task', { url: '{{input.base}}/a' }, /begins with a template.*make the whole URL one template\.$/],
  [
    'service_task',
    { url: 'http://a', method: 'GET', body: {} },
    /config\/body cannot be sent with GET\. Leave it out, or use POST\.$/,
  ],
  ['files/copy', { fetch: 'a', size: 'some' }, /config\/size has none of the allowed forms\.$/],
  ['files/copy', { fetch: 'a', tags: ['A'] }, /config\/tags\/0 must be lower case\.$/],
  [
    'agent_task',
    { prompt: 'Go', retry: { max_attempts: 2, backoff: 'x' } },
    /must be one of "fixed", "exponential"\.$/,
  ],
];

for (const [type, config, message] of MESSAGES) {
  test(`${type}: ${JSON.stringify(config)} is told in one sentence`, (t) => {
    t.regex(configProblems(type, config)[0]?.message ?? '', message);
  });
}

test('a method is known in upper and lower case, and nothing else is', (t) => {
  t.is(serviceMethod(' patch '), 'PATCH');
  for (const method of ['', 'CONNECT', 'TRACE', 'GET POST', 'constructor'])
    t.is(serviceMethod(method), undefined);
});
