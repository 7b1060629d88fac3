import {
  type BuildContext,
  type Clock,
  defineKind,
  type KindDefinition,
  type Resource,
  ResourceErrors,
  type ResourceProblem,
} from 'agent-gateway';
import type { Graph, GraphProblem } from '../../contract/graph.ts';
import { WorkflowKind, type WorkflowSpec } from '../../kinds/workflow.ts';
import { checkGraph } from '../graph/check-graph.ts';
import type { NodeTypes } from '../ports/execution.ts';
import { isDefinitionId } from './definition-id.ts';
import { concernsType, isPluginType, withPluginTypesOf } from './plugin-types.ts';
import { type WorkflowFile, workflowFile } from './workflow-file.ts';

/** What the kind works with. */
export interface WorkflowKindParts {
  readonly types: NodeTypes;
  readonly clock: Clock;
}

/**
 * The kind Workflow of agents.d. All rules of graphs hold when a file is read, but for nodes of types that plugins bring (`<plugin>/<type>`): those come
 * and go while files stay, so that a file may be there before them. Such a type that is there checks its configuration at once; for one that is
 * not there yet the file is taken over, and nothing starts from it until the type is there and has nothing against it.
 */
export function workflowKind({
  types,
  clock,
}: WorkflowKindParts): KindDefinition<typeof WorkflowSpec, WorkflowFile> {
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
