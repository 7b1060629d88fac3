import { GatewayError } from 'agent-gateway';
import test from 'ava';
import type {
  AgentResumeRequest,
  Checkpoint,
  Decision,
  Tool,
} from '../../../../../plugins/agent-engine/contract.ts';
import { askUser } from '../../../../../plugins/agent-engine/services/tools/builtin-tools.ts';
import {
  agent,
  calls,
  collect,
  context,
  type LoopFixture,
  loop,
  says,
  supervisor,
  tool,
  user,
} from './fakes.ts';

const parameters = { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] };
const pay = (paid: string[]) =>
  tool(
    'pay',
    ({ to }) => {
      paid.push(String(to));
      return { content: `paid ${to}` };
    },
    { parameters },
  );
const look = tool('look', () => ({ content: 'a door' }));
const ask = { messages: [user('Hi')], pauses: 'allow', context: context() } as const;

/** As it comes back from the database of another replica. */
const stored = (checkpoint: Checkpoint | undefined): Checkpoint => JSON.parse(JSON.stringify(checkpoint));

/** Runs until the first pause; then `resume` decides about each interrupt. */
async function paused(fixture: LoopFixture, name = 'payer') {
  const made = loop(fixture);
  const first = await collect(made.agents.run({ ...ask, agent: name }));
  const checkpoint = stored(first.result.checkpoint);
  const resume = (decide: (index: number) => Decision, more: Partial<AgentResumeRequest> = {}) => {
    const decisions = Object.fromEntries(checkpoint.interrupts.map(({ id }, index) => [id, decide(index)]));
    return collect(made.agents.resume({ checkpoint, decisions, context: context(), ...more }));
  };
  return { ...made, first, checkpoint, resume };
}

function problems(work: () => unknown): readonly string[] {
  try {
    work();
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'agent.decision-invalid') throw error;
    return (error.extras.errors ?? []).map(({ pointer, message }) => `${pointer} ${message}`);
  }
  return [];
}

const payer = (paid: string[], script = [calls(['pay', { to: 'SECRET' }]), says('Paid')]): LoopFixture => ({
  script,
  tools: [pay(paid), look],
  agents: [agent('payer', {}, ['!pay', 'look'])],
});

test('a call that needs approval pauses the run, and runs once it is approved', async (t) => {
  const paid: string[] = [];
  const { first, checkpoint, resume, receipts, models } = await paused(payer(paid));
  t.is(first.result.finish, 'interrupted');
  t.deepEqual(first.result.messages, []);
  t.deepEqual(
    first.events.map(({ type }) => type),
    ['end'],
  );
  t.like(checkpoint, { agent: 'payer' });
  t.like(checkpoint.interrupts[0], {
    type: 'approval',
    agentPath: ['payer'],
    fields: [],
    toolCall: { id: 'id-pay', name: 'pay', arguments: '{"to":"[REDACTED:test]"}' },
  });
  t.deepEqual(paid, []);

  const { result, events } = await resume(() => ({ decision: 'approve' }));
  t.deepEqual(paid, ['SECRET']);
  t.deepEqual(
    events.map(({ type }) => type),
    ['tool_call', 'tool_result', 'text', 'end'],
  );
  t.deepEqual(
    result.messages.map(({ role }) => role),
    ['assistant', 'tool', 'assistant'],
  );
  t.is(result.finish, 'stop');
  // The first model call was told of when the run was interrupted.
  t.is(first.result.uses.length, 1);
  t.is(result.uses.length, 1);
  t.is(receipts.kept.length, 1);
  t.deepEqual(
    models.requests[1]?.messages.map(({ role }) => role),
    ['user', 'assistant', 'tool'],
  );
});

test('a rejection is told to the model, with the person’s words', async (t) => {
  const paid: string[] = [];
  const { resume, receipts } = await paused(payer(paid));
  const { result } = await resume(() => ({ decision: 'reject', message: 'Too much.' }));
  t.deepEqual(paid, []);
  t.is(result.messages[1]?.content, 'Error: A person refused this call. The person said: Too much.');
  t.is(receipts.kept.length, 0);
});

test('members of a decision that an approval has no use for change nothing', async (t) => {
  for (const answers of [null, {}, { to: 'X' }, 'x']) {
    const paid: string[] = [];
    const { resume } = await paused(payer(paid));
    const approved = await resume(() => ({ decision: 'approve', message: null, answers }) as never);
    t.is(approved.result.finish, 'stop');
    t.deepEqual(paid, ['SECRET']);
    const refusing = await paused(payer([]));
    await refusing.resume(() => ({ decision: 'reject', message: 'Not now', answers }) as never);
    t.regex(String(refusing.models.requests[1]?.messages.at(-1)?.content), /The person said: Not now/);
  }
});

test('edited arguments run, and stand in the conversation', async (t) => {
  const paid: string[] = [];
  const { resume } = await paused(payer(paid));
  const { result } = await resume(() => ({ decision: 'edit', arguments: { to: 'Al' } }));
  t.deepEqual(paid, ['Al']);
  t.is(result.messages[0]?.tool_calls?.[0]?.function.arguments, '{"to":"Al"}');
});

test('results of the same answer are kept while others wait', async (t) => {
  const paid: string[] = [];
  const script = [calls(['look'], ['pay', { to: 'Bo' }], ['pay', { to: 'Al' }, 'second']), says('Done')];
  const { checkpoint, resume, receipts, first } = await paused(payer(paid, script));
  t.is(checkpoint.interrupts.length, 2);
  t.deepEqual(
    first.events.map(({ type }) => type),
    ['tool_call', 'tool_result', 'end'],
  );
  const { result } = await resume((index) => ({ decision: index === 0 ? 'approve' : 'reject' }));
  t.deepEqual(paid, ['Bo']);
  t.deepEqual(
    result.messages.map(({ content }) => content),
    [null, 'a door', 'paid Bo', 'Error: A person refused this call.', 'Done'],
  );
  t.deepEqual(
    receipts.kept.map(({ toolName }) => toolName),
    ['look', 'pay'],
  );
});

test('a question waits for its answers, which are the result of the call', async (t) => {
  const { checkpoint, resume, receipts, clock } = await paused({
    script: [calls(['ask_user', { question: 'Which colour?', options: ['red', 'blue'] }]), says('Red it is')],
    tools: [askUser],
    agents: [agent('payer', {}, ['ask_user'])],
  });
  t.like(checkpoint.interrupts[0], {
    type: 'question',
    reason: 'Which colour?',
    fields: [
      { name: 'answer', type: 'select', label: 'Which colour?', required: true, options: ['red', 'blue'] },
    ],
  });
  clock.advance(5_000);
  const { result } = await resume(() => ({ answers: { answer: 'red' } }));
  t.is(result.messages[1]?.content, '{"answer":"red"}');
  t.like(receipts.kept[0], { toolName: 'ask_user', status: 'success', durationMs: 5_000 });
});

test('several pauses, also of sub-agents, are open at once, and each agent goes on where it was', async (t) => {
  const paid: string[] = [];
  const sub = agent('buyer', { model: 'small' }, ['!pay', 'look']);
  const { checkpoint, resume, receipts, models } = await paused(
    {
      scripts: {
        default: [
          calls(
            ['delegate_to_buyer', { task: 'a' }, 'x'],
            ['delegate_to_buyer', { task: 'b' }, 'y'],
            ['pay', { to: 'top' }],
          ),
          says('All done'),
        ],
        small: (request) => {
          const task = String(request.messages[0]?.content);
          return request.messages.some(({ role }) => role === 'tool')
            ? says(`bought ${task}`)
            : calls(['look'], ['pay', { to: task }]);
        },
      },
      tools: [pay(paid), look],
      agents: [supervisor('boss', [sub], {}, ['!pay'])],
    },
    'boss',
  );
  t.deepEqual(
    checkpoint.interrupts.map(({ agentPath, toolCall }) => [agentPath.join('/'), toolCall?.arguments]),
    [
      ['boss/buyer', '{"to":"a"}'],
      ['boss/buyer', '{"to":"b"}'],
      ['boss', '{"to":"top"}'],
    ],
  );
  t.is(receipts.kept.length, 2);
  const before = models.requests.length;
  const { result } = await resume((index) => ({ decision: index === 1 ? 'reject' : 'approve' }));
  t.deepEqual([...paid].sort(), ['a', 'top']);
  t.is(result.finish, 'stop');
  t.deepEqual(
    result.messages.map(({ content }) => content),
    [null, 'bought a', 'bought b', 'paid top', 'All done'],
  );
  // Nothing that was done is done again.
  t.is(models.requests.length - before, 3);
  t.is(receipts.kept.filter(({ toolName }) => toolName === 'look').length, 2);
});

test('a resumed run may pause again', async (t) => {
  const paid: string[] = [];
  const script = [calls(['pay', { to: 'Bo' }]), calls(['pay', { to: 'Al' }, 'second']), says('Done')];
  const { agents, resume, checkpoint } = await paused(payer(paid, script));
  const second = await resume(() => ({ decision: 'approve' }));
  t.is(second.result.finish, 'interrupted');
  t.deepEqual(
    second.result.messages.map(({ role }) => role),
    ['assistant', 'tool'],
  );
  const next = stored(second.result.checkpoint);
  t.not(next.id, checkpoint.id);
  const decisions = { [next.interrupts[0]!.id]: { decision: 'approve' } as const };
  const third = await collect(agents.resume({ checkpoint: next, decisions, context: context() }));
  t.deepEqual(paid, ['Bo', 'Al']);
  t.deepEqual(
    third.result.messages.map(({ role }) => role),
    ['assistant', 'tool', 'assistant'],
  );
});

test('a question of a tool that was approved pauses again', async (t) => {
  const { resume, agents } = await paused({
    script: [calls(['ask_user', { question: 'Sure?' }]), says('Done')],
    tools: [askUser],
    agents: [agent('payer', {}, ['!ask_user'])],
  });
  const { result } = await resume(() => ({ decision: 'approve' }));
  t.is(result.finish, 'interrupted');
  const next = stored(result.checkpoint);
  t.is(next.interrupts[0]?.type, 'question');
  const decisions = { [next.interrupts[0]!.id]: { answers: { answer: 'yes' } } };
  t.is(
    (await collect(agents.resume({ checkpoint: next, decisions, context: context() }))).result.text,
    'Done',
  );
});

test('resuming again after a crash does not repeat a tool that ran', async (t) => {
  const paid: string[] = [];
  let isDown = true;
  const { resume, receipts } = await paused({
    ...payer(paid),
    script: (request, n) => {
      if (n === 0) return calls(['pay', { to: 'Bo' }]);
      if (isDown) return [new Error('the process is killed')];
      return says(`The model saw: ${request.messages.at(-1)?.content}`);
    },
  });
  await t.throwsAsync(
    resume(() => ({ decision: 'approve' })),
    { message: 'the process is killed' },
  );
  isDown = false;
  const { result } = await resume(() => ({ decision: 'approve' }));
  t.is(result.text, 'The model saw: paid Bo');
  t.deepEqual(paid, ['Bo']);
  t.is(receipts.kept.length, 1);
  const refused = await resume(() => ({ decision: 'reject' }));
  t.regex(refused.result.text, /Already done before an interruption: pay .*Its result: paid Bo/);
});

test('another answer after a crash is the one that counts', async (t) => {
  let isDown = true;
  const { resume } = await paused({
    script: (request, n) => {
      if (n === 0) return calls(['ask_user', { question: 'Where?' }]);
      if (isDown) return [new Error('the process is killed')];
      return says(`The model saw: ${request.messages.at(-1)?.content}`);
    },
    tools: [askUser],
    agents: [agent('payer', {}, ['ask_user'])],
  });
  await t.throwsAsync(resume(() => ({ answers: { answer: 'Paris' } })));
  isDown = false;
  const { result } = await resume(() => ({ answers: { answer: 'London' } }));
  t.is(result.text, 'The model saw: {"answer":"London"}');
});

test('a paused run keeps the definition that it started with', async (t) => {
  const paid: string[] = [];
  const { resume, resources, models } = await paused({
    ...payer(paid),
    agents: [agent('payer', { systemPrompt: 'Old.' }, ['!pay'])],
  });
  resources.live.set('payer', agent('payer', { systemPrompt: 'New.', model: 'gone' }, []));
  await resume(() => ({ decision: 'approve' }));
  t.is(models.requests[1]?.messages[0]?.content, 'Old.');
  t.deepEqual(paid, ['SECRET']);
  resources.live.delete('payer');
  await t.throwsAsync(collect(loop({ agents: [] }).agents.run({ ...ask, agent: 'payer' })));
});

test('a tool that is gone when its call is approved is an error for the model', async (t) => {
  const { resume, offered } = await paused(payer([]));
  offered.tools = [];
  const { result } = await resume(() => ({ decision: 'approve' }));
  t.regex(String(result.messages[1]?.content), /There is no tool "pay"/);
});

test('a checkpoint counts the model calls of the turn', async (t) => {
  const { resume, models } = await paused({
    ...payer([]),
    script: (_, n) => (n === 0 ? calls(['pay', { to: 'Bo' }]) : calls(['look', {}, `l-${n}`])),
  });
  const { result } = await resume(() => ({ decision: 'approve' }));
  t.is(result.finish, 'iteration_limit');
  t.is(models.requests.length, 50);
});

test('where nobody can be asked, the model is told', async (t) => {
  const paid: string[] = [];
  const { agents } = loop({
    script: [calls(['pay', { to: 'Bo' }], ['ask_user', { question: 'Sure?' }]), says('Then not')],
    tools: [pay(paid), askUser],
    agents: [agent('payer', {}, ['!pay', 'ask_user'])],
  });
  const { result } = await collect(agents.run({ ...ask, agent: 'payer', pauses: 'refuse' }));
  t.is(result.finish, 'stop');
  t.regex(String(result.messages[1]?.content), /needs the approval of a person/);
  t.regex(String(result.messages[2]?.content), /No person can be asked here/);
  t.deepEqual(paid, []);
});

test('a person is not asked about a call that could not run', async (t) => {
  const { agents } = loop(payer([], [calls(['pay', {}]), says('Sorry')]));
  const { result } = await collect(agents.run({ ...ask, agent: 'payer' }));
  t.is(result.finish, 'stop');
  t.regex(String(result.messages[1]?.content), /'to'/);
});

test('a client tool beside a pause is handed out once the pause is over', async (t) => {
  const paid: string[] = [];
  const { agents } = loop(payer(paid, [calls(['pay', { to: 'Bo' }], ['open_door'])]));
  const clientTools = [{ type: 'function', function: { name: 'open_door' } }] as const;
  const first = await collect(agents.run({ ...ask, agent: 'payer', clientTools }));
  t.is(first.result.finish, 'interrupted');
  const checkpoint = stored(first.result.checkpoint);
  const decisions = { [checkpoint.interrupts[0]!.id]: { decision: 'approve' } as const };
  const { result } = await collect(agents.resume({ checkpoint, decisions, context: context() }));
  t.is(result.finish, 'tool_calls');
  t.is(result.toolCalls?.[0]?.function.name, 'open_door');
  t.deepEqual(
    result.messages.map(({ role }) => role),
    ['assistant', 'tool'],
  );
});

test('what a person writes passes the guardrails like what he says', async (t) => {
  const { resume, guarded } = await paused(payer([]));
  const before = guarded.length;
  await t.throwsAsync(
    resume(() => ({ decision: 'reject', message: 'FORBIDDEN' })),
    {
      message: /forbidden-word/,
    },
  );
  t.is(guarded.length, before, 'no guard of a plugin begins with what is refused');
});

test('decisions that do not fit are refused with all problems at once, before anything runs', async (t) => {
  const question: Tool = tool('form', () => ({
    question: {
      reason: 'Details',
      fields: [
        { name: 'note', type: 'text', label: 'Note', required: false },
        { name: 'sure', type: 'confirm', label: 'Sure?', required: true },
        { name: 'size', type: 'select', label: 'Size', required: true, options: ['S', 'M'] },
      ],
    },
  }));
  const { agents, checkpoint, models, resume } = await paused({
    script: [calls(['pay', { to: 'a' }], ['pay', { to: 'b' }, 'second'], ['form']), says('Done')],
    tools: [pay([]), question],
    agents: [agent('payer', {}, ['!pay', 'form'])],
  });
  const [one, two, form] = checkpoint.interrupts.map(({ id }) => id) as [string, string, string];
  const check = (decisions: object) => problems(() => agents.checkDecisions(checkpoint, decisions as never));
  const fine = { [one]: { decision: 'approve' }, [two]: { decision: 'approve' } };
  t.deepEqual(check({ ...fine, [form]: { answers: { sure: false, size: 'M' } } }), []);
  t.deepEqual(
    check({
      [one]: { decision: 'maybe' },
      [two]: { decision: 'edit', arguments: { to: 7 } },
      [form]: { answers: { note: 7, size: 'XL', other: 1 } },
      'x/y': { decision: 'approve' },
    }),
    [
      `/decisions/${one}/decision must be "approve", "reject" or "edit"`,
      `/decisions/${two}/arguments /to must be string`,
      `/decisions/${form}/answers/note must be a text of at most 32768 characters`,
      `/decisions/${form}/answers/sure is required`,
      `/decisions/${form}/answers/size must be one of "S", "M"`,
      `/decisions/${form}/answers/other is no field of the question`,
      '/decisions/x~1y is no open interrupt',
    ],
  );
  t.is(check({}).length, 3);
  t.is(check({ ...fine, [form]: 'yes' }).length, 1);
  t.is(check({ ...fine, [form]: {} }).length, 1);
  const many = Object.fromEntries(Array.from({ length: 131_072 }, (_, index) => [index, 0]));
  t.is(check({ ...fine, [form]: { answers: many } }).length, 100);
  t.is(
    check({ [one]: { decision: 'edit' }, [two]: { decision: 'reject', message: 7 }, [form]: null }).length,
    3,
  );
  await t.throwsAsync(
    resume(() => ({ decision: 'maybe' }) as never),
    { code: 'agent.decision-invalid' },
  );
  t.is(models.requests.length, 1);
});

test('a checkpoint of another version is refused', async (t) => {
  const { agents, checkpoint } = await paused(payer([]));
  for (const state of [null, {}, { version: 2, frame: {} }, 'x']) {
    t.throws(() => agents.checkDecisions({ ...checkpoint, state }, {}), { code: 'agent.checkpoint-invalid' });
  }
});
