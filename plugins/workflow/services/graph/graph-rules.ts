/**
 * The rules of graphs (specification 2, Graph validation rules; decisions 2.4), by the last part of their code `workflow.graph.<rule>`. Codes are
 * stable: clients know them.
 */
export const GRAPH_RULES = {
  shape: 'Graph, nodes, edges and conditions have the members that they need, of the right JSON types.',
  'unknown-member': 'Graph, nodes, edges and conditions have no members that are not known.',
  'too-many-nodes': 'A graph has at most 500 nodes.',
  'too-many-edges': 'A graph has at most 2,000 edges.',
  'node-id':
    'An id has 1 to 64 of the characters `A-Z a-z 0-9 _ -`, and is not `__proto__`, `constructor` or `prototype`.',
  'name-too-long': 'The name of a node has at most 200 characters.',
  'config-too-large': 'The configuration of a node is at most 64 KiB of JSON, on at most 64 levels.',
  'duplicate-node': 'Every node has an id of its own.',
  'node-type':
    'The type of a node is `start`, `end`, `agent_task`, `service_task`, `human_task`, or one that a plugin adds.',
  'start-count': 'There is exactly one start node.',
  'end-count': 'There is at least one end node.',
  'edge-endpoint': 'Both ends of an edge are nodes of the graph.',
  'self-loop': 'No edge leads from a node to itself.',
  cycle: 'No path leads from a node back to it.',
  unreachable: 'A path leads from the start node to every node.',
  'start-incoming': 'No edge leads to the start node.',
  'dead-end': 'Every node but an end node has an outgoing edge.',
  'end-outgoing': 'No edge leaves an end node.',
  'condition-form': 'A condition is either `{outcome}` or `{field, op, value}`.',
  operator:
    'An operator is `eq`, `ne`, `gt`, `gte`, `lt`, `lte`, `exists`, `contains`, `startsWith` or `endsWith`.',
  'value-missing': 'A condition with `field` and `op` has a `value`.',
  'value-too-large':
    'The value that a condition compares with is at most 16 KiB of JSON, on at most 64 levels.',
  'too-many-comparisons': 'At most 100 edges with `{field, op, value}` leave a node.',
  'exists-value': 'The value of the operator `exists` is `true` or `false`.',
  outcome: 'An outcome has 1 to 64 characters.',
  'outcome-source': 'Edges with an outcome leave human tasks only.',
  path: 'A path is `input.<field>`, `variables.<key>` or `steps.<node id>.output.<field>`.',
  'path-depth': 'A path has at most 32 names.',
  template: 'What stands in `{{ }}` is a path.',
  'unknown-node': 'Paths in conditions and templates name nodes of the graph.',
  'config-missing': 'The configuration has what the type of the node needs: `prompt`, `url`.',
  'config-unknown': 'The configuration has no members that the type of the node does not know.',
  'config-invalid': 'The members of the configuration have values that the type of the node can use.',
  url: 'The URL of a service task begins with `http://` or `https://`, or is one template as a whole.',
  method: 'The method of a service task is GET, POST, PUT, PATCH, DELETE or HEAD.',
  duration: 'Durations are written like `30s`, `5m`, `720h` or `7d`.',
  retry: 'A `retry` is `{max_attempts, delay, backoff, max_delay}`, with 10 attempts in all at most.',
  'retry-misplaced': 'Nodes that a worker carries out can have a `retry`; start, end and human tasks cannot.',
  'more-problems': 'The graph has more problems than are told at one time.',
} as const;

/** Name of a rule, as it stands in its code. */
export type GraphRule = keyof typeof GRAPH_RULES;

/** The code of a rule: `workflow.graph.cycle`. */
export function graphCode(rule: GraphRule): string {
  return `workflow.graph.${rule}`;
}
