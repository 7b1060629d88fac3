import type { Logger } from 'agent-gateway';
import type { NodeType } from '../../contract/node-types.ts';
import { isPluginType } from '../definitions/workflow-resource.ts';
import type { NodeTypes } from '../ports/graphs.ts';

/** Where node types come from. */
export interface NodeTypesParts {
  /** Those of the engine itself, and of whoever opened it. */
  readonly builtin: readonly NodeType[];
  /** Those of other plugins, as they are now. */
  readonly contributed: () => readonly NodeType[];
  readonly log: Logger;
}

/**
 * The node types that there are. A contributed one has to be called `<plugin>/<type>`; one with another name, or with a name that is taken, is left
 * out and logged once. The first of a name wins. The same for all tenants.
 */
export function createNodeTypes({ builtin, contributed, log }: NodeTypesParts): NodeTypes {
  const fixed = new Map(builtin.map((type) => [type.type, type]));
  // By the contribution, not by its name: a plugin that comes again with the same mistake is told again.
  const told = new WeakSet<NodeType>();

  function refuse(type: NodeType, why: string): void {
    if (told.has(type)) return;
    told.add(type);
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
