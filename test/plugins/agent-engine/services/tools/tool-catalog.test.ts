import test from 'ava';
import fc from 'fast-check';
import pino from 'pino';
import type { Tool, ToolSource } from '../../../../../plugins/agent-engine/contract.ts';
import {
  createToolCatalog,
  isToolRef,
  MAX_TOOLS,
  matchesRef,
  mayHold,
  toToolName,
  uniqueNames,
} from '../../../../../plugins/agent-engine/services/tools/tool-catalog.ts';
import { manualClock } from '../../../../../testing/manual-clock.ts';

const signal = new AbortController().signal;
const tool = (ref: string, name = ref.split('/').at(-1)!): Tool => ({
  ref,
  name,
  description: '',
  parameters: {},
  invoke: async () => ({ content: '' }),
});
const source = (prefix: string, ...tools: Tool[]): ToolSource => ({ prefix, list: () => tools });
const wish = (ref: string, requiresApproval = false) => ({ ref, requiresApproval });

function catalog(sources: readonly ToolSource[], allowedTools: readonly string[] | null = null) {
  const lines: { source?: string; msg?: string; times?: number }[] = [];
  const clock = manualClock();
  const made = createToolCatalog({
    sources: () => sources,
    policies: { of: () => ({ allowedTools }) as never },
    log: pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) }),
    clock,
    sourceTimeoutMs: 20,
  });
  return { ...made, lines, clock };
}

const names = ({ tools }: { tools: readonly { name: string }[] }) => tools.map(({ name }) => name);
const builtin = source('builtin/', tool('builtin/a'), tool('builtin/b'));
const mcp = source('mcp://', tool('mcp://s/a'), tool('mcp://s/c'), tool('mcp://other/d'));
const skills = source('skill://', tool('skill://mail', 'skill_mail'));

test('without wishes all tools of the tenant are offered, but one for each skill', async (t) => {
  const offer = await catalog([builtin, mcp, skills]).offer({ tenantId: 't', signal });
  t.deepEqual(names(offer), ['a', 'b', 'a_2', 'c', 'd']);
});

test('a tool that no provider could be told of is left out, and the log says why', async (t) => {
  const good = tool('plugin/notes/good');
  const flawed: readonly (readonly [unknown, string])[] = [
    [undefined, 'it has no ref'],
    [{ ...good, ref: 7 }, 'it has no ref'],
    [{ ...good, ref: 'plugin/other/good' }, 'its ref does not begin as its source says'],
    [{ ...good, name: undefined }, 'its name is no text'],
    [{ ...good, description: undefined }, 'its description is no text'],
    [{ ...good, parameters: undefined }, 'its parameters are no JSON Schema of an object'],
    [{ ...good, parameters: [] }, 'its parameters are no JSON Schema of an object'],
    [{ ...good, invoke: 'later' }, 'it has no invoke'],
  ];
  for (const [one, flaw] of flawed) {
    const { offer, lines } = catalog([source('plugin/notes/', one as Tool, good)]);
    t.deepEqual(names(await offer({ tenantId: 't', signal })), ['good']);
    t.like(lines, [{ source: 'plugin/notes/', msg: `a tool is left out: ${flaw}` }]);
    t.is(lines.length, 1);
  }
});

test('what is left out at each turn is logged once a minute for each source', async (t) => {
  const good = tool('plugin/notes/good');
  const slow = { prefix: 'mcp://', list: () => Promise.reject(new Error('gone')) };
  const made = catalog([source('plugin/notes/', { ...good, name: undefined } as never), slow]);
  for (let turn = 0; turn < 3; turn++) await made.offer({ tenantId: 't', signal });
  t.deepEqual(made.lines.map((line) => line.source).sort(), ['mcp://', 'plugin/notes/']);
  made.clock.advance(60_000);
  await made.offer({ tenantId: 't', signal });
  t.deepEqual(
    made.lines.slice(2).map(({ times }) => times),
    [3, 3],
  );
});

test('wishes choose, with a star for a server, and say what needs approval', async (t) => {
  const wishes = [wish('mcp://s/*', true), wish('builtin/b'), wish('skill://mail'), wish('builtin/gone')];
  const offer = await catalog([builtin, mcp, skills]).offer({ tenantId: 't', wishes, signal });
  t.deepEqual(
    offer.tools.map(({ name, requiresApproval }) => [name, requiresApproval]),
    [
      ['b', false],
      ['a', true],
      ['c', true],
      ['skill_mail', false],
    ],
  );
  t.deepEqual(offer.missing, ['builtin/gone']);
});

test('an approval that one of two wishes asks for is asked for', async (t) => {
  const wishes = [wish('mcp://s/*'), wish('mcp://s/a', true)];
  const { tools } = await catalog([mcp]).offer({ tenantId: 't', wishes, signal });
  t.deepEqual(
    tools.map(({ requiresApproval }) => requiresApproval),
    [true, false],
  );
});

test('no wishes at all means no tools, and no source is asked', async (t) => {
  const asked: ToolSource = { prefix: 'builtin/', list: () => t.fail() as never };
  t.deepEqual(await catalog([asked]).offer({ tenantId: 't', wishes: [], signal }), {
    tools: [],
    missing: [],
  });
});

test('the tenant’s policy holds for every kind of tool, also for what an agent names', async (t) => {
  const made = catalog([builtin, mcp], ['b', 'c']);
  t.deepEqual(names(await made.offer({ tenantId: 't', signal })), ['b', 'c']);
  const offer = await made.offer({ tenantId: 't', wishes: [wish('builtin/a'), wish('builtin/b')], signal });
  t.deepEqual(names(offer), ['b']);
  t.deepEqual(offer.missing, ['builtin/a']);
});

test('names that are taken are not given again', async (t) => {
  t.deepEqual(names(await catalog([builtin]).offer({ tenantId: 't', taken: ['a'], signal })), ['a_2', 'b']);
});

for (const [title, list] of [
  [
    'throws',
    () => {
      throw new Error('broken');
    },
  ],
  ['rejects', () => Promise.reject(new Error('broken'))],
  ['hangs', () => new Promise<never>(() => {})],
] as const) {
  test(`a source that ${title} is left out and logged, the others are offered`, async (t) => {
    const made = catalog([{ prefix: 'mcp://', list }, builtin]);
    t.deepEqual(names(await made.offer({ tenantId: 't', signal })), ['a', 'b']);
    t.is(made.lines[0]?.source, 'mcp://');
  });
}

test('a source that hangs is waited for once, and has its tools again after it has answered', async (t) => {
  const asked: PromiseWithResolvers<readonly Tool[]>[] = [];
  const list = () => {
    asked.push(Promise.withResolvers());
    return asked.at(-1)!.promise;
  };
  const made = catalog([{ prefix: 'mcp://', list }, builtin]);
  const turn = async (tenantId = 't') => names(await made.offer({ tenantId, signal }));
  t.deepEqual(await turn(), ['a', 'b']);
  t.deepEqual(await turn(), ['a', 'b']);
  t.is(asked.length, 1, 'the answer to the first turn is still awaited');
  t.deepEqual(await turn('other'), ['a', 'b']);
  t.is(asked.length, 2, 'another tenant may have another server');

  asked[0]!.reject(new Error('no answer'));
  await turn();
  await turn();
  t.is(asked.length, 3, 'the turn after a failure asks again, and leaves the answer to the background');
  made.clock.advance(30_000);
  await turn();
  t.is(asked.length, 4, 'no answer for long is a failure, too');
  asked[3]!.resolve([tool('mcp://s/c')]);
  await Promise.all([asked[3]!.promise]);
  const next = turn();
  asked[4]!.resolve([tool('mcp://s/c')]);
  t.deepEqual(await next, ['c', 'a', 'b']);
});

test('a source that fails at once is asked by each turn', async (t) => {
  let asked = 0;
  const list = () => Promise.reject(new Error(`broken ${++asked}`));
  const made = catalog([{ prefix: 'mcp://', list }]);
  for (let turn = 0; turn < 3; turn++) await made.offer({ tenantId: 't', signal });
  t.is(asked, 3);
});

test('tools that pass for those of another source are left out and logged', async (t) => {
  for (const wait of [false, true]) {
    const listed = [tool('plugin/acme/own'), tool('plugin/notes/add'), tool('builtin/a', 'mine')];
    const acme: ToolSource = {
      prefix: 'plugin/acme/',
      list: () => (wait ? Promise.resolve(listed) : listed),
    };
    const made = catalog([acme, builtin]);
    t.deepEqual(names(await made.offer({ tenantId: 't', signal })), ['own', 'a', 'b']);
    t.like(made.lines[0], { source: 'plugin/acme/', ref: 'plugin/notes/add' });
  }
});

test('an aborted caller does not wait for slow sources', async (t) => {
  const end = new AbortController();
  const offer = catalog([{ prefix: 'mcp://', list: () => new Promise<never>(() => {}) }]).offer({
    tenantId: 't',
    signal: end.signal,
  });
  const reason = new Error('gone');
  end.abort(reason);
  await t.throwsAsync(offer, { is: reason });
});

test('a policy that cannot be read offers nothing', async (t) => {
  const made = createToolCatalog({
    sources: () => [builtin],
    policies: { of: () => Promise.reject(new Error('no policy')) },
    log: pino({ enabled: false }),
    clock: manualClock(),
  });
  await t.throwsAsync(made.offer({ tenantId: 't', signal }), { message: 'no policy' });
});

test('at most 128 tools are offered', async (t) => {
  const many = source('builtin/', ...Array.from({ length: 300 }, (_, n) => tool(`builtin/t${n}`)));
  const made = catalog([many]);
  const offered = async (others?: number) =>
    (await made.offer({ tenantId: 't', signal, others })).tools.length;
  t.is(await offered(), MAX_TOOLS);
  t.is(made.lines.length, 1);
  t.is(await offered(28), MAX_TOOLS - 28);
  t.is(await offered(MAX_TOOLS + 1), 0);
});

test('a tool that two sources have is offered once', async (t) => {
  t.deepEqual(names(await catalog([builtin, builtin]).offer({ tenantId: 't', signal })), ['a', 'b']);
});

test('names are those that every provider accepts, each once, and the same each time', (t) => {
  const wish = fc.oneof(fc.string(), fc.constantFrom('search', 'search_2', 'a.b', 'a/b', 'x'.repeat(80)));
  fc.assert(
    fc.property(fc.array(wish, { maxLength: 40 }), fc.array(wish.map(toToolName)), (wishes, taken) => {
      const names = uniqueNames(wishes, taken);
      t.is(new Set([...names, ...taken]).size, names.length + new Set(taken).size);
      t.true(names.every((name) => /^[a-zA-Z0-9_-]{1,64}$/.test(name)));
      t.deepEqual(uniqueNames(wishes, taken), names);
    }),
  );
});

test('a name that is free stays as it is, a second one is numbered', (t) => {
  t.deepEqual(uniqueNames(['search', 'search', 'look', 'search']), [
    'search',
    'search_2',
    'look',
    'search_3',
  ]);
  t.deepEqual(uniqueNames(['search'], ['search']), ['search_2']);
});

for (const [ref, isRef] of [
  ['builtin/calculator', true],
  ['mcp://search/web', true],
  ['mcp://search/web.find', true],
  ['mcp://search/*', true],
  ['skill://write-email', true],
  ['plugin/notes/add_note', true],
  ['calculator', false],
  ['builtin/', false],
  ['builtin/*', false],
  ['builtin/a/b', false],
  ['mcp://search', false],
  ['mcp://*/web', false],
  ['mcp://search/a*', false],
  ['skill://', false],
  ['plugin/notes', false],
  ['http://example.com/', false],
] as const) {
  test(`${ref} is ${isRef ? 'a' : 'no'} name of a tool`, (t) => t.is(isToolRef(ref), isRef));
}

test('a star stands for all tools of a server', (t) => {
  t.true(matchesRef({ ref: 'mcp://search/web' }, 'mcp://search/*'));
  t.false(matchesRef({ ref: 'mcp://search2/web' }, 'mcp://search/*'));
  t.false(matchesRef({ ref: 'mcp://search/web' }, 'mcp://search/we'));
});

test('only sources that may have a tool are asked for it', (t) => {
  t.true(mayHold({ prefix: 'mcp://' }, 'mcp://search/web'));
  t.true(mayHold({ prefix: 'mcp://search/' }, 'mcp://search/*'));
  t.false(mayHold({ prefix: 'mcp://other/' }, 'mcp://search/*'));
  t.false(mayHold({ prefix: 'builtin/' }, 'plugin/notes/add'));
});
