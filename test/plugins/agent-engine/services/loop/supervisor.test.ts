import test from 'ava';
import { MAX_ITERATIONS } from '../../../../../plugins/agent-engine/contract.ts';
import { agent, calls, collect, context, loop, says, streamed, supervisor, tool, user } from './fakes.ts';

const ask = {
  messages: [user('Write about rain')],
  pauses: 'refuse',
  context: context(),
  agent: 'boss',
} as const;

const searcher = agent('searcher', { model: 'small', systemPrompt: 'Search.' }, ['look']);
const writer = agent('writer', { description: 'Writes texts' });
const look = tool('look', () => ({ content: 'rain falls' }));

test('a supervisor hands tasks over, and its agents answer with tools and models of their own', async (t) => {
  const { agents, models, receipts } = loop({
    scripts: {
      default: [calls(['delegate_to_searcher', { task: 'Find out about rain' }]), says('Rain: ', 'it falls')],
      small: [calls(['look']), says('It falls.')],
    },
    tools: [look],
    agents: [supervisor('boss', [searcher, writer], { systemPrompt: 'Lead.' })],
  });
  const { events, result } = await collect(
    agents.run({ ...ask, preamble: 'About Anna', parameters: { stop: 'X' } }),
  );
  // Only what the outermost agent says is the answer.
  t.is(streamed(events), 'Rain: it falls');
  t.deepEqual(
    events
      .map((event) => ('agentPath' in event ? [event.type, ...event.agentPath] : [event.type]))
      .map(String),
    [
      'tool_call,boss',
      'agent_switch',
      'tool_call,boss,searcher',
      'tool_result,boss,searcher',
      'agent_switch',
      'tool_result,boss',
      'text',
      'text',
      'end',
    ],
  );
  t.deepEqual(
    events.filter(({ type }) => type === 'agent_switch'),
    [
      { type: 'agent_switch', from: 'boss', to: 'searcher' },
      { type: 'agent_switch', from: 'searcher', to: 'boss' },
    ],
  );
  t.deepEqual(
    models.requests[0]?.tools?.map(({ function: { name, description } }) => `${name}: ${description}`),
    [
      'delegate_to_searcher: Hands a task over to the agent searcher, and returns its answer. About searcher',
      'delegate_to_writer: Hands a task over to the agent writer, and returns its answer. Writes texts',
    ],
  );
  // The sub-agent sees its task, not the conversation, the preamble, or the parameters of the answer.
  t.deepEqual(models.requests[1]?.messages, [
    { role: 'system', content: 'Search.' },
    user('Find out about rain'),
  ]);
  t.is(models.requests[1]?.stop, undefined);
  t.is(result.messages[1]?.content, 'It falls.');
  t.deepEqual(
    result.uses.map(({ model }) => model),
    ['default', 'small', 'small', 'default'],
  );
  t.is(result.model, 'default');
  t.deepEqual(
    receipts.kept.map(({ toolName }) => toolName),
    ['look'],
  );
});

test('an agent without a model of its own has its supervisor’s', async (t) => {
  const { agents, models } = loop({
    scripts: { big: [calls(['delegate_to_writer', { task: 'Write' }]), says('Text'), says('Done')] },
    agents: [supervisor('boss', [writer], { model: 'big' })],
  });
  await collect(agents.run(ask));
  t.deepEqual(
    models.requests.map(({ model }) => model),
    ['big', 'big', 'big'],
  );
});

test('the cap of model calls holds for the whole turn, sub-agents included', async (t) => {
  const { agents, models } = loop({
    scripts: {
      default: (_, n) => calls(['delegate_to_searcher', { task: 'Go on' }, `d-${n}`]),
      small: (_, n) => calls(['look', {}, `l-${n}`]),
    },
    tools: [look],
    agents: [supervisor('boss', [searcher])],
  });
  const { result } = await collect(agents.run(ask));
  t.is(result.finish, 'iteration_limit');
  t.is(models.requests.length, MAX_ITERATIONS);
  t.is(result.uses.length, MAX_ITERATIONS);
});

test('an agent that reaches its own limit tells its supervisor, which goes on', async (t) => {
  const { agents } = loop({
    scripts: {
      default: [calls(['delegate_to_searcher', { task: 'Go on' }]), says('Enough')],
      small: (_, n) => [{ content: `try ${n}` }, ...calls(['look', {}, `l-${n}`])],
    },
    tools: [look],
    agents: [supervisor('boss', [{ ...searcher, maxIterations: 2 }])],
  });
  const { result } = await collect(agents.run(ask));
  t.is(result.text, 'Enough');
  t.regex(String(result.messages[1]?.content), /reached its limit of model calls. It came to: try 1/);
});

test('agents that work side by side count their calls by place, so that a repetition finds them', async (t) => {
  let runs = 0;
  const counted = tool('look', () => {
    runs += 1;
    return { content: 'rain falls' };
  });
  const twice = calls(
    ['delegate_to_searcher', { task: 'a' }, 'x'],
    ['delegate_to_searcher', { task: 'b' }, 'y'],
  );
  const { agents, receipts } = loop({
    scripts: {
      default: [twice, says('Done'), twice, says('Done')],
      small: (request) =>
        request.messages.some(({ role }) => role === 'tool') ? says('ok') : calls(['look']),
    },
    tools: [counted],
    agents: [supervisor('boss', [searcher])],
  });
  const again = { ...ask, context: context({ idempotencyId: 'step' }) };
  await collect(agents.run(again));
  t.deepEqual(receipts.kept.map(({ idempotencyId }) => idempotencyId).sort(), ['step:1.1', 'step:2.1']);
  await collect(agents.run(again));
  t.is(runs, 2);
});

test('a task that is missing is told to the supervisor', async (t) => {
  const { agents } = loop({
    script: [calls(['delegate_to_writer', {}]), says('Done')],
    agents: [supervisor('boss', [writer])],
  });
  const { result } = await collect(agents.run(ask));
  t.regex(String(result.messages[1]?.content), /'task'/);
});

test('supervisors may lead supervisors', async (t) => {
  const { agents } = loop({
    scripts: {
      default: [
        calls(['delegate_to_middle', { task: 'Go' }]),
        calls(['delegate_to_writer', { task: 'Write' }]),
        says('deep'),
        says('middle'),
        says('top'),
      ],
    },
    agents: [supervisor('boss', [supervisor('middle', [writer])])],
  });
  const { events, result } = await collect(agents.run(ask));
  t.is(result.text, 'top');
  t.deepEqual(
    events.flatMap((event) => (event.type === 'agent_switch' ? [`${event.from}-${event.to}`] : [])),
    ['boss-middle', 'middle-writer', 'writer-middle', 'middle-boss'],
  );
});

test('what an agent answers to its supervisor is redacted', async (t) => {
  const { agents } = loop({
    scripts: { default: [calls(['delegate_to_writer', { task: 'Write' }]), says('a SECRET'), says('Done')] },
    agents: [supervisor('boss', [writer])],
  });
  const { events, result } = await collect(agents.run(ask));
  t.false(JSON.stringify({ events, result }).includes('SECRET'));
});
