import { defineErrors } from '../../base/gateway-error.ts';

/** Mistakes of the code that uses the queue. Outages are no errors: `publish` answers false. */
export const QueueErrors = defineErrors({
  payloadInvalid: {
    code: 'queue.payload-invalid',
    kind: 'internal',
    title: 'A message does not fit the schema of its queue',
  },
  payloadTooLarge: {
    code: 'queue.payload-too-large',
    kind: 'internal',
    title: 'A message is too large for a queue',
  },
  idInvalid: { code: 'queue.id-invalid', kind: 'internal', title: 'The id of a message is malformed' },
  optionInvalid: {
    code: 'queue.option-invalid',
    kind: 'internal',
    title: 'An option of a queue is out of its bounds',
  },
  tooManyQueues: { code: 'queue.too-many', kind: 'internal', title: 'There are too many queues' },
  closed: { code: 'queue.closed', kind: 'unavailable', title: 'The queue is closed' },
});
