import type { ExecutionContext } from 'ava';
import { createRedaction } from '../../../../foundation/redaction/redaction.ts';
import type { WorkflowDefinitions } from '../../../../plugins/workflow/contract/engine.ts';
import type { Graph } from '../../../../plugins/workflow/contract/graph.ts';
import { definitionRoutes } from '../../../../plugins/workflow/routes/definitions.ts';
import { openDefinitions } from '../../../../plugins/workflow/services/definitions/create-definitions.ts';
import { entities, gatewayTables, migrations } from '../../../../plugins/workflow/store/tables.ts';
import { createVersions } from '../../../../plugins/workflow/store/versions.ts';
import { startTestGateway, type TestGatewayOptions } from '../../../../testing/index.ts';
import { testPlugin } from '../../../support/plugins.ts';
import { testTypes } from '../services/definitions/graphs.ts';

const redactor = createRedaction();

/** A gateway with nothing but definitions of workflows, over its real tables; stopped when the test ends. */
export async function startDefinitions(
  t: ExecutionContext,
  options: Omit<TestGatewayOptions, 'plugins'> = {},
) {
  const types = testTypes();
  let resolve: WorkflowDefinitions['resolve'] | undefined;
  const plugin = testPlugin('workflow', {
    entities,
    migrations,
    setup(scope) {
      const { database, clock, ids } = scope.services;
      const versions = createVersions({ database, tables: gatewayTables, clock, ids });
      const definitions = openDefinitions(scope, { types, versions, redactor });
      resolve = definitions.resolve;
      scope.route(...definitionRoutes(definitions));
    },
  });
  const gateway = await startTestGateway({ ...options, plugins: [plugin] });
  t.teardown(gateway.stop);
  const { resources, apiKeys } = gateway.gateway.services;
  return Object.assign(gateway, {
    types,
    /** What a run would start from. */
    resolve: resolve!,
    /** Takes a file of agents.d away. */
    removeWorkflow: (name: string) => resources.remove(`${name}.yaml`),
    /** A raw key of a tenant with these roles and scopes. */
    key: async (tenantId: string, roles: readonly string[], scopes: readonly string[] = []) => {
      const wanted = { tenantId, name: 'test', roles: [...roles], scopes: [...scopes] };
      return (await apiKeys.create({ ...wanted, expiresAt: null, createdBy: null })).key;
    },
    /** Puts a file into agents.d. */
    writeWorkflow: (name: string, graph: Graph) =>
      resources.write(
        `${name}.yaml`,
        JSON.stringify({ apiVersion: 'svc/v1', kind: 'Workflow', metadata: { name }, spec: { graph } }),
      ),
  });
}
