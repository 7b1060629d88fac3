import test from 'ava';
import pino from 'pino';
import { createRedaction } from '../../../../../foundation/redaction/redaction.ts';
import type { Tool, ToolContext } from '../../../../../plugins/agent-engine/contract.ts';
import { memoryTools } from '../../../../../plugins/agent-engine/services/tools/memory-tools.ts';
import { freshDatabase } from '../../../../support/databases.ts';
import { openMemories } from '../../../records/services/memories/kit.ts';

const guard = createRedaction();
const TENANT = '01900000-0000-7000-8000-000000000001';

const contextOf = (userId: string): ToolContext => ({
  principal: { tenantId: TENANT, identityId: 'key', userId },
  callId: 'c',
  agentPath: [],
  requestId: 'r',
  signal: new AbortController().signal,
  log: pino({ level: 'silent' }),
});

test('a model saves, finds and forgets for the user that it works for', async (t) => {
  const opened = await openMemories(t, (await freshDatabase(t, 'sqlite'))!);
  const tools = new Map(memoryTools({ ...opened, guard }).map((tool) => [tool.name, tool]));
  const call = async (name: string, input: Record<string, unknown>, user = 'ana') => {
    const result = await tools.get(name)!.invoke(input, contextOf(user));
    return result as { content: string; isError?: boolean };
  };
  t.deepEqual(await call('memory_save', { key: 'tea', value: 'Likes green tea.' }), {
    content: '{"saved":"tea"}',
  });
  const { content } = await call('memory_search', { query: 'green tea' });
  const [found] = JSON.parse(content).memories;
  t.like(found, { key: 'tea', value: 'Likes green tea.' });
  t.true(found.score > 0.5);
  t.deepEqual(await call('memory_search', { query: 'green tea' }, 'ben'), { content: '{"memories":[]}' });
  t.true((await call('memory_forget', { key: 'tea' }, 'ben')).isError);
  t.deepEqual(await call('memory_forget', { key: 'tea' }), { content: '{"forgotten":"tea"}' });
  t.true((await call('memory_forget', { key: 'tea' })).isError);
  const unnamed = JSON.parse((await call('memory_save', { value: 'x' })).content);
  t.regex(unnamed.saved, /^[0-9a-f-]{36}$/);
  await t.throwsAsync(call('memory_save', { key: 'a\nb', value: 'x' }), { code: 'memory.invalid' });
});

test('the tools have the names and refs that agents use', async (t) => {
  const opened = await openMemories(t, (await freshDatabase(t, 'sqlite'))!);
  const tools: readonly Tool[] = memoryTools({ ...opened, guard });
  t.deepEqual(
    tools.map(({ ref, name }) => [ref, name]),
    ['memory_save', 'memory_search', 'memory_forget'].map((name) => [`builtin/${name}`, name]),
  );
});

test('a credential that a model wants to remember is not remembered', async (t) => {
  const opened = await openMemories(t, (await freshDatabase(t, 'sqlite'))!);
  const [save] = memoryTools({ ...opened, guard });
  const secret = `ghp_${'a1B2'.repeat(9)}`;
  await save!.invoke({ key: 'token', value: `My token is ${secret}.` }, contextOf('ana'));
  const { memories } = await opened.memories.list(opened.database.forTenant(TENANT), 'ana', {
    limit: 10,
    offset: 0,
  });
  t.regex(memories[0]!.value, /^My token is \[REDACTED:[a-z-]+\]\.$/);
});
