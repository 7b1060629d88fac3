import {
  type BuildContext,
  type Clock,
  defineKind,
  isJsonObject,
  isUuid,
  type KindDefinition,
  ResourceErrors,
  type ResourceProblem,
  Type,
  type UnreadResource,
} from 'agent-gateway';
import type { Graph, GraphProblem } from '../../contract/graph.ts';
import { type NodeType, StepFailure } from '../../contract/node-types.ts';
import { WorkflowKind, type WorkflowSpec } from '../../kinds/workflow.ts';
import { checkGraph } from '../graph/check-graph.ts';
import { isPluginType } from '../nodes/node-types.ts';
import type { NodeTypes } from '../ports/execution.ts';

/**
 * The kind Workflow of agents.d. All rules of graphs hold when a file is read, but for nodes of types that plugins
 * bring (`<plugin>/<type>`): plugins come and go while files stay, so a file may be loaded before the type. A
 * registered type checks its configuration at once; if the type is not registered yet, the file is accepted, and no run
 * starts from it until the type is registered and accepts the configuration.
 */
export function workflowKind({
  types,
  clock,
}: {
  readonly types: NodeTypes;
  readonly clock: Clock;
}): KindDefinition<typeof WorkflowSpec, WorkflowFile> {
  return defineKind({
    ...WorkflowKind,
    checkUnread({ metadata, spec: { graph } }) {
      if (graph === undefined) return nameProblems(metadata);
      // The result of a check is cached, so it must not depend on which plugins happen to run.
      const named = typesIn(graph);
      const problems = checkGraph(graph, withPluginTypes(named, types));
      return [
        ...nameProblems(metadata),
        ...problems.filter((problem) => !concernsType(named, problem, isPluginType)).map(toResourceProblem),
      ];
    },
    build(resource, { log }: BuildContext) {
      const { name, description = '' } = resource.metadata;
      const graph = resource.spec.graph as Graph;
      const isAbsent = (type: string) => isPluginType(type) && types.get(type) === undefined;
      const file = workflowFile({ name, description, graph, loadedAt: clock.now() }, types);
      const named = typesIn(graph);
      const problems = file.problems().filter((problem) => !concernsType(named, problem, isAbsent));
      if (problems.length > 0) {
        throw ResourceErrors.invalid(undefined, {
          errors: problems.map((problem) => ({ ...toResourceProblem(problem) })),
        });
      }
      const absent = [...new Set(named.filter(isAbsent))];
      if (absent.length > 0) log.info({ types: absent }, 'a workflow waits for node types of plugins');
      return file;
    },
  });
}

function toResourceProblem({ pointer, message }: GraphProblem): ResourceProblem {
  return { pointer: `/spec/graph${pointer}`, message };
}

function nameProblems({ name }: UnreadResource['metadata']): readonly ResourceProblem[] {
  // A text must identify either a definition of the API or a file, never both.
  if (typeof name !== 'string' || !isUuid(name.toLowerCase())) return [];
  const message = 'looks like the id of a definition that was made through the API; give it another name';
  return [{ pointer: '/metadata/name', message }];
}

/** A workflow of agents.d. It belongs to the deployment, and every tenant may run it. */
export interface WorkflowFile {
  readonly name: string;
  readonly description: string;
  readonly graph: Graph;
  /** When this process read it, milliseconds since the epoch. */
  readonly loadedAt: number;
  /**
   * Why it cannot run: a node type of a plugin is not registered, or the type refuses the configuration. Once there
   * were no problems, none are reported any more: like a published version the file stays valid, and if a type
   * disappears later, its steps fail.
   */
  problems(): readonly GraphProblem[];
}

/** Makes the value of a file. It is checked against `types` again at each call until there are no problems. */
export function workflowFile(content: Omit<WorkflowFile, 'problems'>, types: NodeTypes): WorkflowFile {
  let isValid = false;
  return {
    ...content,
    problems() {
      if (isValid) return [];
      const problems = checkGraph(content.graph, types);
      isValid = problems.length === 0;
      return problems;
    },
  };
}

/** The types of the nodes of a graph that may be anything, each in its place; the empty text where there is none. */
function typesIn(graph: unknown): readonly string[] {
  const nodes: unknown = isJsonObject(graph) ? graph.nodes : undefined;
  if (!Array.isArray(nodes)) return [];
  return nodes.map((node) => (isJsonObject(node) && typeof node.type === 'string' ? node.type : ''));
}

/**
 * The built-in types of `types`, and, of the types that nodes name, those that plugins may bring, registered or not,
 * with any configuration.
 */
function withPluginTypes(named: readonly string[], types: NodeTypes): NodeTypes {
  const ofPlugins = new Set(named.filter(isPluginType));
  return {
    get: (type) => (ofPlugins.has(type) ? anyType(type) : types.get(type)),
    names: () => [...types.names().filter((type) => !isPluginType(type)), ...ofPlugins],
  };
}

/**
 * True for a problem with the type or the configuration of a node whose type is one of `those`.
 *
 * @param named the types of the nodes, in their places
 */
function concernsType(
  named: readonly string[],
  { pointer }: GraphProblem,
  those: (type: string) => boolean,
): boolean {
  const [, index] = /^\/nodes\/(\d+)\/(?:type$|config(?:\/|$))/.exec(pointer) ?? [];
  const type = index === undefined ? undefined : named[Number(index)];
  return type !== undefined && those(type);
}

function anyType(type: string): NodeType {
  return {
    type,
    summary: 'A type of a plugin that may come later',
    config: Type.Object({}, { additionalProperties: true }),
    execute: () => Promise.reject(new StepFailure('unknown_type', `No plugin brings the type ${type}`)),
  };
}
