import { access } from 'node:fs/promises';
import test from 'ava';
import { BUILTIN_FOLDER } from '../../../../plugins/records/services/skills/skill-text.ts';
import { REPEATABLE, shownOf } from '../../../../scripts/skills/check-examples.ts';
import { readSkillFiles } from '../../../../scripts/skills/skill-files.ts';
import { type ExampleCall, partsOf } from '../../../../scripts/skills/skill-parts.ts';
import { type FakeModelRequest, fakeModel, startTestGateway } from '../../../../testing/index.ts';

const BUBBLEWRAP = '/usr/bin/bwrap';

test('a model that loads a built-in skill and does its example gets the figures that the skill prints', async (t) => {
  t.timeout(300_000, 'some 300 calls of tools in 81 chats');
  const runsCode = await access(BUBBLEWRAP).then(
    () => true,
    () => false,
  );
  if (!runsCode) {
    const line = 'bubblewrap is not installed: code of examples is not run';
    if (process.env.REQUIRE_SERVICES === '1') t.fail(line);
    t.log(line);
  }
  const isRun = ({ tool }: ExampleCall) => REPEATABLE.has(tool) && (runsCode || tool !== 'execute_code');
  const { skills } = await readSkillFiles(BUILTIN_FOLDER);
  const examples = new Map(skills.map(({ name, body }) => [name, partsOf(body).calls.filter(isRun)]));

  // A user names a skill; the model loads it, then makes the calls of its example, then says that it is done.
  const model = fakeModel((request) => {
    const name = wantedIn(request);
    const results = resultsIn(request).length;
    if (results === 0) return { calls: [{ name: 'load_skill', arguments: { name } }] };
    const calls = examples.get(name) ?? [];
    if (results > 1 || calls.length === 0) return 'Done.';
    return {
      calls: calls.map(({ tool, arguments: given }) => ({ name: tool, arguments: JSON.parse(given) })),
    };
  });
  const env = { SANDBOX_MODE: 'local', SVC_ALLOW_LOCAL_SANDBOX: 'true' };
  await using gateway = await startTestGateway({ model, env });
  const { token } = await gateway.makeTenant();

  for (const { name, body } of skills) {
    const messages = [{ role: 'user', content: name }];
    const { status } = await gateway.request('/v1/agent/chat', {
      method: 'POST',
      body: { messages, store: false },
      token,
    });
    t.is(status, 200, name);
    const last = model.requests.at(-1)!;
    const [loaded, ...results] = resultsIn(last);
    t.is(loaded?.trim(), body, `${name}: its text reaches the model as it is`);
    const calls = examples.get(name)!;
    t.is(results.length, calls.length, name);
    for (const [index, { tool, line, result }] of calls.entries()) {
      t.is(shownOf(tool, results[index]!), result!, `${name}, line ${line} of the body`);
    }
  }
});

function wantedIn({ messages }: FakeModelRequest): string {
  return messages.findLast(({ role }) => role === 'user')!.content as string;
}

function resultsIn({ messages }: FakeModelRequest): readonly string[] {
  return messages.filter(({ role }) => role === 'tool').map(({ content }) => content as string);
}
