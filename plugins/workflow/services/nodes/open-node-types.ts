import type { Database, Scope } from 'agent-gateway';
import type { Agents, Metering, Preambles } from '../../../agent-engine/contract.ts';
import type { WorkflowSettings } from '../../config.ts';
import { type NodeType, NodeTypesPoint } from '../../contract/node-types.ts';
import type { NodeTypes } from '../ports/graphs.ts';
import type { Nesting } from '../tools/start-workflow.ts';
import type { Redactor } from '../views/redaction.ts';
import { agentTask } from './agent/agent-task.ts';
import { createAgentUsage } from './agent/agent-usage.ts';
import { createNodeTypes } from './node-types.ts';
import { serviceTask } from './service/service-task.ts';

/** What the built-in types work with. */
export interface NodeTypeParts {
  readonly agents: Agents;
  readonly metering: Metering;
  readonly preambles: Preambles;
  readonly redactor: Redactor;
  readonly nesting: Nesting;
}

/** Gives the node types of an engine over a database: the built-in ones, those of other plugins, and some of its own. */
export type NodeTypesOf = (database: Database, own?: readonly NodeType[]) => NodeTypes;

/** Opens the node types of this deployment. */
export function openNodeTypes(scope: Scope<WorkflowSettings>, parts: NodeTypeParts): NodeTypesOf {
  const { config, log, services } = scope;
  const { agents, metering, preambles, redactor, nesting } = parts;
  const contributed = scope.contributions(NodeTypesPoint);
  const { egress, secrets } = services;
  const service = serviceTask({ egress, secrets, redactor, timeoutMs: config.http_timeout });
  const agent = (database: Database) =>
    agentTask({
      ...{ agents, preambles, nesting, preambleTokens: config.preamble_tokens },
      usage: createAgentUsage({
        metering,
        database: services.database,
        commitsWithStep: database === services.database,
      }),
    });
  return (database, own = []) =>
    createNodeTypes({ builtin: [agent(database), service, ...own], contributed, log });
}
