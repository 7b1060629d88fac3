import { createQueue } from '../../../../foundation/messages/queue/create-queue.ts';
import { openRedisCarrier } from '../../../../foundation/messages/queue/redis-carrier.ts';
import { Steps } from './queue-forms.ts';
import { clock, ids, log, metrics } from './quiet-parts.ts';

/** A process that takes a message of its own in hand, says so, and never ends. Its argument is the URL of Redis. */
const url = process.argv[2] as string;
const carrier = await openRedisCarrier({ url, prefix: 'killed', lease: 1_000, clock, log });
const queue = createQueue(carrier, { clock, ids, log, metrics });
queue.consume(Steps, async (_, { id }) => {
  process.stdout.write(`has message ${id}\n`);
  await new Promise(() => undefined);
});
await queue.publish(Steps, { n: 1 }, { id: 'run-1' });
