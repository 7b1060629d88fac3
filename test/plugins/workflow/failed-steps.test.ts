import test from 'ava';
import { failure } from '../../support/fake-provider.ts';
import { until } from '../../support/until.ts';
import { startWorkflows } from './plugin-kit.ts';

const start = { id: 'start', type: 'start' };
const end = { id: 'end', type: 'end' };
const edges = [
  { from: 'start', to: 'work' },
  { from: 'work', to: 'end' },
];

test('steps that fail are told in the log, once a minute for each code, with the run and the cause', async (t) => {
  const gateway = await startWorkflows(t, { scripts: [failure(401)] });
  const flow = async (work: object) => gateway.publish({ nodes: [start, work as never, end], edges });
  const asks = await flow({ id: 'work', type: 'agent_task', config: { prompt: 'Hi' } });
  const first = await gateway.start(asks);
  t.like(first, { status: 'paused', error: { code: 'model_upstream' } });
  await gateway.start(asks);
  const calls = await flow({ id: 'work', type: 'service_task', config: { url: 'http://127.0.0.1:1/' } });
  await gateway.start(calls);

  const told = () =>
    gateway
      .logs()
      .filter((line) => line.includes('a step of a workflow failed'))
      .map((line) => JSON.parse(line));
  await until(() => told().length === 2);
  const [model, service] = told();
  t.like(model, {
    level: 'warn',
    plugin: 'workflow',
    code: 'model_upstream',
    run_id: first.id,
    node: 'work',
    count: 1,
  });
  t.regex(JSON.stringify(model.err), /The provider answered 401/, 'what the run’s own error leaves out');
  t.like(service, { level: 'warn', code: 'egress_denied', count: 1 });
});
