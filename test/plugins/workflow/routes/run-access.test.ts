import test from 'ava';
import { chain, startRuns } from './runs-gateway.ts';

const RUN = '/v1/workflow-runs';
const TASK = '/v1/workflow-tasks';

/** What is asked of whom: any one of the scopes. */
const ROUTES: readonly [method: string, path: string, scopes: readonly string[]][] = [
  ['POST', RUN, ['workflow:run', 'execute']],
  ['GET', RUN, ['workflow:read', 'read']],
  ['GET', `${RUN}/{run}`, ['workflow:read', 'read']],
  ['GET', `${RUN}/{run}/events`, ['workflow:read', 'read']],
  ['GET', `${RUN}/{run}/steps/{step}`, ['workflow:read', 'read']],
  ['POST', `${RUN}/{run}/retry`, ['workflow:run', 'execute']],
  ['GET', TASK, ['workflow:read', 'read']],
  ['POST', `${TASK}/{step}/complete`, ['workflow:run', 'execute']],
  ['POST', `${RUN}/{run}/cancel`, ['workflow:cancel', 'execute', 'write']],
];

const SCOPES = [
  'read',
  'write',
  'execute',
  'workflow:read',
  'workflow:write',
  'workflow:publish',
  'workflow:run',
  'workflow:cancel',
  'workflow:*',
  'audit:read',
  'admin',
];

test('each route asks for its scope, and for a credential', async (t) => {
  const gateway = await startRuns(t);
  const ask = { id: 'ask', type: 'human_task', config: {} };
  const tenant = await gateway.tenantWith(chain(ask));
  const run = await tenant.start({}, '?wait=10');
  const [task] = (await tenant.get(TASK)).body;
  const fill = (path: string) => path.replace('{run}', run.id).replace('{step}', task.step_run_id);
  const keys = new Map<string, string>();
  for (const scope of SCOPES) keys.set(scope, (await gateway.key(tenant.id, ['user'], [scope])).key);

  for (const [method, path, scopes] of ROUTES) {
    const call = (token: string | null) => {
      // An empty body is refused where a definition has to be named, after access was decided.
      const body = method === 'POST' ? {} : undefined;
      return gateway.request(fill(path), { method, token, body });
    };
    t.is((await call(null)).status, 401, `${method} ${path}`);
    t.is((await call('hk_wrong')).status, 401, `${method} ${path}`);
    for (const [scope, key] of keys) {
      const isOfFamily = scope === 'workflow:*' || scope === 'admin';
      const mayPass = isOfFamily || scopes.includes(scope);
      const { status } = await call(key);
      t.is(status !== 403, mayPass, `${method} ${path} with ${scope}: ${status}`);
    }
  }
});

test('tasks are for every role, runs for users', async (t) => {
  const gateway = await startRuns(t);
  const tenant = await gateway.tenantWith(chain());
  const token = (await gateway.key(tenant.id, ['billing'], ['read', 'execute'])).key;
  t.is((await gateway.request(TASK, { token })).status, 200);
  t.is((await gateway.request(RUN, { token })).status, 403);
});
