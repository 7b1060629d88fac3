import test from 'ava';
import pino from 'pino';
import type { Tool, ToolSource } from '../../../../../plugins/agent-engine/contract.ts';
import {
  createToolCatalog,
  MAX_TOOLS,
} from '../../../../../plugins/agent-engine/services/tools/tool-catalog.ts';

const signal = new AbortController().signal;
const tool = (ref: string, name = ref.split('/').at(-1)!): Tool => ({
  ...{ ref, name, description: '', parameters: {} },
  invoke: async () => ({ content: '' }),
});
const source = (prefix: string, ...tools: Tool[]): ToolSource => ({ prefix, list: () => tools });
const wish = (ref: string, requiresApproval = false) => ({ ref, requiresApproval });

function catalog(sources: readonly ToolSource[], allowedTools: readonly string[] | null = null) {
  const lines: { source?: string }[] = [];
  const made = createToolCatalog({
    sources: () => sources,
    policies: { of: () => ({ allowedTools }) as never },
    log: pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) }),
    sourceTimeoutMs: 20,
  });
  return { ...made, lines };
}

const names = ({ tools }: { tools: readonly { name: string }[] }) => tools.map(({ name }) => name);
const builtin = source('builtin/', tool('builtin/a'), tool('builtin/b'));
const mcp = source('mcp://', tool('mcp://s/a'), tool('mcp://s/c'), tool('mcp://other/d'));
const skills = source('skill://', tool('skill://mail', 'skill_mail'));

test('without wishes all tools of the tenant are offered, but one for each skill', async (t) => {
  const offer = await catalog([builtin, mcp, skills]).offer({ tenantId: 't', signal });
  t.deepEqual(names(offer), ['a', 'b', 'a_2', 'c', 'd']);
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

test('an aborted caller does not wait for slow sources', async (t) => {
  const end = new AbortController();
  const offer = catalog([{ prefix: 'mcp://', list: () => new Promise<never>(() => {}) }]).offer({
    ...{ tenantId: 't', signal: end.signal },
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
  });
  await t.throwsAsync(made.offer({ tenantId: 't', signal }), { message: 'no policy' });
});

test('at most 128 tools are offered', async (t) => {
  const many = source('builtin/', ...Array.from({ length: 300 }, (_, n) => tool(`builtin/t${n}`)));
  const made = catalog([many]);
  t.is((await made.offer({ tenantId: 't', signal })).tools.length, MAX_TOOLS);
  t.is(made.lines.length, 1);
});

test('a tool that two sources have is offered once', async (t) => {
  t.deepEqual(names(await catalog([builtin, builtin]).offer({ tenantId: 't', signal })), ['a', 'b']);
});
