import { type FieldError, type GatewayError, KernelErrors } from 'agent-gateway';
import type { Definitions } from '../services/definitions/definitions.ts';
import { graphInvalid } from '../services/definitions/require-valid.ts';
import { isObject, ownMember } from '../services/graph/json-object.ts';

/**
 * The error for a body whose other members are refused: what is wrong with its graph is told too (decisions 2.4), as `workflow.graph-invalid`.
 * Where the graph is fine, or there is none, it is `request.invalid`.
 */
export function refuseDefinition({ graphErrors }: Pick<Definitions, 'graphErrors'>) {
  return (errors: readonly FieldError[], body: unknown): GatewayError => {
    const graph = isObject(body) ? ownMember(body, 'graph') : undefined;
    const broken = graph === undefined ? [] : graphErrors(graph);
    return broken.length === 0
      ? KernelErrors.invalidRequest(undefined, { errors })
      : graphInvalid(broken, errors);
  };
}
