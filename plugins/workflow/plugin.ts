import { definePlugin, PersonalDataPoint, RetentionPoint } from 'agent-gateway';
import { AgentsRef, GuardRef, ToolsPoint } from '../agent-engine/contract.ts';
import { MeteringRef, PreamblesRef } from '../records/contract.ts';
import { WorkflowConfig } from './config.ts';
import {
  EventSinksPoint,
  NodeTypesPoint,
  WorkflowDefinitionsRef,
  WorkflowEngineRef,
  WorkflowEnginesRef,
} from './contract.ts';
import { workflowMetrics } from './metrics.ts';
import { definitionRoutes } from './routes/definitions.ts';
import { eventRoutes } from './routes/events.ts';
import { runRoutes } from './routes/runs.ts';
import { taskRoutes } from './routes/tasks.ts';
import { createPersonalData } from './services/data-protection/personal-data.ts';
import { openDefinitions } from './services/definitions/create-definitions.ts';
import { createEngines } from './services/engine/further-engines.ts';
import { bindEngine, limitsOf } from './services/engine/open-engine.ts';
import { openNodeTypes } from './services/nodes/node-types.ts';
import { type NestedPrincipals, startWorkflowSource } from './services/tools/start-workflow.ts';
import { retainedWorkflows } from './store/ended-runs.ts';
import { entities, gatewayTables, migrations } from './store/tables.ts';

export default definePlugin({
  name: 'workflow',
  summary: 'Durable workflows: graphs of agent tasks, HTTP calls and human tasks',
  kernel: '^1.0.0',
  config: WorkflowConfig,
  entities,
  migrations,
  needs: { agents: AgentsRef, guard: GuardRef, metering: MeteringRef, preambles: PreamblesRef },
  offers: [WorkflowEngineRef, WorkflowEnginesRef, WorkflowDefinitionsRef],
  points: [NodeTypesPoint, EventSinksPoint],
  async setup(scope, { agents, guard, metering, preambles }) {
    const { database } = scope.services;
    const nested: NestedPrincipals = new WeakSet();
    const typesOf = openNodeTypes(scope, { agents, metering, preambles, redactor: guard, nested });
    const shared = {
      redactor: guard,
      sinks: scope.contributions(EventSinksPoint),
      limits: limitsOf(scope.config),
      metrics: workflowMetrics(scope.metric),
    };
    const types = typesOf(database);
    const setup = { ...shared, tables: gatewayTables };
    const { engine, versions } = await bindEngine(scope, setup, async () => ({ database, types }))();
    const definitions = openDefinitions(scope, { types, versions, redactor: guard });

    scope.provide(WorkflowEngineRef, engine);
    scope.provide(WorkflowEnginesRef, createEngines({ ...shared, typesOf }));
    scope.provide(WorkflowDefinitionsRef, definitions);
    scope.contribute(ToolsPoint, startWorkflowSource({ engine, definitions, nested }));
    for (const kind of retainedWorkflows(database, gatewayTables)) scope.contribute(RetentionPoint, kind);
    scope.contribute(PersonalDataPoint, createPersonalData({ ...scope.services, redactor: guard, engine }));
    scope.route(
      ...definitionRoutes(definitions),
      ...runRoutes(engine, definitions),
      ...taskRoutes(engine),
      ...eventRoutes(engine),
    );
  },
});
