import { createHints } from '../../../../foundation/messages/hints/create-hints.ts';
import { openRedisCarrier } from '../../../../foundation/messages/hints/redis-carrier.ts';
import { Steps } from './hint-forms.ts';
import { clock, ids, log, metrics } from './quiet-parts.ts';

/** A process that takes a message of its own in hand, says so, and never ends. Its argument is the URL of Redis. */
const url = process.argv[2] as string;
const carrier = await openRedisCarrier({ url, prefix: 'killed', lease: 1_000, clock, log });
const queue = createHints(carrier, { clock, ids, log, metrics });
queue.listen(Steps, async (_, { id }) => {
  process.stdout.write(`has message ${id}\n`);
  await new Promise(() => undefined);
});
await queue.send(Steps, { n: 1 }, { id: 'run-1' });
