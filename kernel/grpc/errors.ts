import { defineErrors } from '../../foundation/base/gateway-error.ts';

/** What can go wrong with a gRPC call beside the errors of every call. */
export const GrpcErrors = defineErrors({
  deadline: { code: 'request.deadline', kind: 'timeout', title: 'The deadline of the call is over' },
  unknownService: { code: 'health.unknown-service', kind: 'not-found', title: 'There is no such service' },
  metadataTooLarge: {
    code: 'request.metadata-too-large',
    kind: 'too-large',
    title: 'There are too many metadata',
  },
  responseTooLarge: {
    code: 'response.too-large',
    kind: 'too-large',
    title: 'The response is larger than a message may be',
  },
});

/** A service of a plugin cannot be served as it is declared: says which, and what is wrong. */
export class GrpcDeclarationError extends Error {
  override readonly name = 'GrpcDeclarationError';
}

/** Two plugins want to serve one service. */
export class ServiceCollision extends Error {
  override readonly name = 'ServiceCollision';
  readonly owners: readonly [string, string];

  constructor(service: string, first: string, second: string) {
    super(`the gRPC service ${service} is served by both ${first} and ${second}`);
    this.owners = [first, second];
  }
}
