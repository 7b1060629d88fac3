import {
  type BuildContext,
  type Clock,
  defineKind,
  type KindDefinition,
  type Resource,
  ResourceErrors,
  type ResourceProblem,
  Type,
} from 'agent-gateway';
import type { Graph, GraphProblem } from '../../contract/graph.ts';
import { type NodeType, StepFailure } from '../../contract/node-types.ts';
import { WorkflowKind, type WorkflowSpec } from '../../kinds/workflow.ts';
import { checkGraph } from '../graph/check-graph.ts';
import type { NodeTypes } from '../ports/execution.ts';
import { isDefinitionId } from './definition-record.ts';

/**
 * The kind Workflow of agents.d. All rules of graphs hold when a file is read, but for nodes of types that plugins bring (`<plugin>/<type>`): those come
 * and go while files stay, so that a file may be there before them. Such a type that is there checks its configuration at once; for one that is
 * not there yet the file is taken over, and nothing starts from it until the type is there and has nothing against it.
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
    check(resource) {
      const graph = graphOf(resource);
      // What a check says is remembered, so it must not depend on which plugins happen to run.
      const problems = checkGraph(graph, withPluginTypesOf(graph, types));
      return [
        ...nameProblems(resource),
        ...problems.filter((problem) => !concernsType(graph, problem, isPluginType)).map(toResourceProblem),
      ];
    },
    build(resource, { log }: BuildContext) {
      const { name, description = '' } = resource.metadata;
      const graph = graphOf(resource);
      const isAbsent = (type: string) => isPluginType(type) && types.get(type) === undefined;
      const file = workflowFile({ name, description, graph, loadedAt: clock.now() }, types);
      const problems = file.problems().filter((problem) => !concernsType(graph, problem, isAbsent));
      if (problems.length > 0) {
        throw ResourceErrors.invalid(undefined, {
          errors: problems.map((problem) => ({ ...toResourceProblem(problem) })),
        });
      }
      const absent = [...new Set(graph.nodes.map(({ type }) => type).filter(isAbsent))];
      if (absent.length > 0) log.info({ types: absent }, 'a workflow waits for node types of plugins');
      return file;
    },
  });
}

function graphOf({ spec }: Resource<WorkflowSpec>): Graph {
  return spec.graph as Graph;
}

function toResourceProblem({ pointer, message }: GraphProblem): ResourceProblem {
  return { pointer: `/spec/graph${pointer}`, message };
}

function nameProblems({ metadata }: Resource<WorkflowSpec>): readonly ResourceProblem[] {
  // A text that leads to a definition or a run's start leads to one place.
  if (!isDefinitionId(metadata.name.toLowerCase())) return [];
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
   * What is in the way of running it: a node type of a plugin that is not there, or a configuration that the type refuses. Once there was nothing,
   * there is nothing any more: like a published version it stays what it is, and a step whose type is gone fails by itself.
   */
  problems(): readonly GraphProblem[];
}

/** Makes the value of a file. `types` are looked at anew each time until nothing is wrong. */
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

const PLUGIN_TYPE = /^[a-z0-9][a-z0-9_-]{0,63}\/[a-z0-9][a-z0-9_-]{0,63}$/;

/** True for the name of a node type that a plugin may bring: `<plugin>/<type>`. The built-in ones have no slash. */
export function isPluginType(type: string): boolean {
  return PLUGIN_TYPE.test(type);
}

/** The built-in types of `types`, and those that plugins may bring for the nodes of a graph, there or not, with any configuration. */
function withPluginTypesOf(graph: Graph, types: NodeTypes): NodeTypes {
  const isBuiltin = (type: string) => !isPluginType(type);
  const named = new Set(graph.nodes.map(({ type }) => type).filter(isPluginType));
  return {
    get: (type) => (named.has(type) ? anyType(type) : isBuiltin(type) ? types.get(type) : undefined),
    names: () => [...types.names().filter(isBuiltin), ...named],
  };
}

/** True for a problem with the type or the configuration of a node whose type is one of `those`. */
function concernsType(graph: Graph, { pointer }: GraphProblem, those: (type: string) => boolean): boolean {
  const [, index] = /^\/nodes\/(\d+)\/(?:type$|config(?:\/|$))/.exec(pointer) ?? [];
  const node = index === undefined ? undefined : graph.nodes[Number(index)];
  return node !== undefined && those(node.type);
}

function anyType(type: string): NodeType {
  return {
    type,
    summary: 'A type of a plugin that may come later',
    config: Type.Object({}, { additionalProperties: true }),
    execute: () => Promise.reject(new StepFailure('unknown_type', `No plugin brings the type ${type}`)),
  };
}
