import test from 'ava';
import { createGuard } from '../../../../../plugins/agent-engine/services/guard/create-guard.ts';
import { createPersonalData } from '../../../../../plugins/workflow/services/data-protection/personal-data.ts';
import { gatewayTables } from '../../../../../plugins/workflow/store/tables.ts';
import { eachGatewayDatabase } from '../../../../support/databases.ts';
import { eraseFrom, exportedBy } from '../../../../support/personal-data.ts';
import { chain, startRuns } from '../../routes/runs-gateway.ts';

const guard = createGuard({ input: 'block', output: 'block', onFinding: () => undefined });
const NEVER = new AbortController().signal;

eachGatewayDatabase(
  test,
  'what is kept can be taken out and deleted, of one user or of all',
  async (t, fresh) => {
    const gateway = await startRuns(t, { env: { ...fresh.environment } });
    const { database, clock, ids } = gateway.gateway.services;
    const echo = { id: 'work', type: 'test/echo', config: { text: '{{input.text}}' } };
    const tenant = await gateway.tenantWith(chain(echo));
    const other = await gateway.tenantWith(chain(echo));
    const bob = await gateway.key(tenant.id, ['user']);
    const mine = await tenant.start({ text: 'AKIAIOSFODNN7EXAMPLE' }, '?wait=10');
    const body = { definition_id: tenant.definitionId };
    const his = await gateway.request('/v1/workflow-runs?wait=10', { method: 'POST', token: bob.key, body });
    await other.start({}, '?wait=10');

    const engine = { cancel: () => Promise.reject(new Error('no run is under way')) };
    const data = createPersonalData({ database, clock, ids, redactor: guard, engine });
    const exported = (userId?: string, signal = NEVER) =>
      exportedBy(data, { tenantId: tenant.id, userId }, signal);
    const erased = (userId?: string) => eraseFrom(database, data, { tenantId: tenant.id, userId });

    const all = await exported();
    t.deepEqual(
      all.map(({ section }) => section),
      ['workflow_definitions', 'workflow_versions', 'workflow_runs', 'workflow_runs'],
    );
    const shown = all[2]!.record;
    t.is(shown.id, mine.id);
    t.is(shown.steps.length, 3);
    t.is(shown.events.at(-1)!.type, 'run.completed');
    t.notRegex(JSON.stringify(all), /AKIAIOSFODNN7/);
    t.deepEqual(
      (await exported(bob.id)).map(({ record }) => record.id),
      [his.body.id],
    );
    t.deepEqual(await exported(undefined, AbortSignal.abort()), []);

    const entities = database.forTenant(tenant.id);
    await entities.update(gatewayTables.versions, {}, { publishedBy: bob.id });
    const ofBob = await erased(bob.id);
    t.like(ofBob, { workflow_runs: 1, workflow_steps: 3 });
    const [version] = await entities.rows(gatewayTables.versions, {}, { limit: 1 });
    t.is(version!.publishedBy, 'erased-by-test');
    t.is((await tenant.get('/v1/workflow-runs')).body.total, 1);
    t.like(await erased(), { workflow_runs: 1, workflow_versions: 1, workflow_definitions: 1 });
    t.deepEqual(await exported(), []);
    t.is((await other.get('/v1/workflow-runs')).body.total, 1);
  },
);
