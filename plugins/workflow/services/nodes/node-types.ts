import type { Database, Logger, Scope } from 'agent-gateway';
import type { Agents } from '../../../agent-engine/contract.ts';
import type { Metering, Preambles } from '../../../records/contract.ts';
import type { WorkflowSettings } from '../../config.ts';
import { type NodeType, NodeTypesPoint } from '../../contract/node-types.ts';
import type { NodeTypes } from '../ports/execution.ts';
import type { NestedPrincipals } from '../tools/start-workflow.ts';
import type { Redactor } from '../views/redaction.ts';
import { agentTask } from './agent-task.ts';
import { serviceTask } from './service-task.ts';

/** Where node types come from. */
interface NodeTypesParts {
  /** Those of the engine itself, and of the plugin that opened it. */
  readonly builtin: readonly NodeType[];
  /** Those of other plugins, as they are now. */
  readonly contributed: () => readonly NodeType[];
  readonly log: Logger;
}

const PLUGIN_TYPE = /^[a-z0-9][a-z0-9_-]{0,63}\/[a-z0-9][a-z0-9_-]{0,63}$/;

/** True for the name of a node type that a plugin may bring: `<plugin>/<type>`. The built-in ones have no slash. */
export function isPluginType(type: string): boolean {
  return PLUGIN_TYPE.test(type);
}

/**
 * The node types that are registered. A contributed one has to be called `<plugin>/<type>`; one with another name, or
 * with a name that is taken, is left out and logged once. Of several types with one name the first wins. The same for
 * all tenants.
 */
export function createNodeTypes({ builtin, contributed, log }: NodeTypesParts): NodeTypes {
  const fixed = new Map(builtin.map((type) => [type.type, type]));
  // Keyed by the contribution, not by its name: a reloaded plugin with the same mistake is logged again.
  const logged = new WeakSet<NodeType>();

  function refuse(type: NodeType, why: string): void {
    if (logged.has(type)) return;
    logged.add(type);
    log.error({ node_type: String(type.type).slice(0, 200) }, `a node type is left out: ${why}`);
  }

  function all(): ReadonlyMap<string, NodeType> {
    const types = new Map(fixed);
    for (const type of contributed()) {
      if (!isPluginType(type.type)) {
        refuse(
          type,
          'its name is not <plugin>/<type> of lower-case letters, digits, "_" and "-", 64 characters each at most',
        );
      } else if (types.has(type.type)) refuse(type, 'another one has its name');
      else types.set(type.type, type);
    }
    return types;
  }

  return {
    get: (name) => fixed.get(name) ?? all().get(name),
    names: () => [...all().keys()],
  };
}

/** What the built-in types work with. */
interface NodeTypeParts {
  readonly agents: Agents;
  readonly metering: Metering;
  readonly preambles: Preambles;
  readonly redactor: Redactor;
  readonly nested: NestedPrincipals;
}

/**
 * Gives the node types of an engine over a database: the built-in ones, those of other plugins, and some of its own.
 */
export type NodeTypesOf = (database: Database, own?: readonly NodeType[]) => NodeTypes;

/** Opens the node types of this deployment. */
export function openNodeTypes(scope: Scope<WorkflowSettings>, parts: NodeTypeParts): NodeTypesOf {
  const { config, log, services } = scope;
  const { redactor, ...ofAgents } = parts;
  const contributed = scope.contributions(NodeTypesPoint);
  const { clock, durableEvents, egress, secrets } = services;
  const service = serviceTask({ egress, secrets, redactor, clock, timeoutMs: config.http_timeout });
  const agent = (database: Database) =>
    agentTask({
      ...ofAgents,
      durableEvents,
      database: services.database,
      commitsWithStep: database === services.database,
      preambleTokens: config.preamble_tokens,
    });
  return (database, own = []) =>
    createNodeTypes({ builtin: [agent(database), service, ...own], contributed, log });
}
