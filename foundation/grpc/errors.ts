import { defineErrors } from '../base/gateway-error.ts';

/** What can go wrong with a gRPC call in addition to the errors of every call. */
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
