import { GatewayError } from 'agent-gateway';
import { AgentErrors } from '../../agent-engine/contract.ts';

/**
 * What the engine finds wrong in decisions, at the places of the request from which they were read; any other error as
 * it is. Pure.
 *
 * @param place the place in the request of a pointer of the engine, `/decisions/<interrupt id>/…`
 */
export function atRequest(error: unknown, place: (pointer: string) => string): unknown {
  if (!(error instanceof GatewayError)) return error;
  if (!AgentErrors.decisionInvalid.is(error)) return error;
  const errors = (error.extras.errors ?? []).map((one) => ({ ...one, pointer: place(one.pointer) }));
  return AgentErrors.decisionInvalid(error.detail, { errors });
}

/** The parts of a pointer of the engine: the interrupt's id, still escaped, and what follows. Pure. */
export function partsOfPointer(pointer: string): { readonly id: string; readonly rest: string } {
  const [, id = '', rest = ''] = /^\/decisions\/([^/]*)(.*)$/s.exec(pointer) ?? [];
  return { id, rest };
}
