import { together } from '../support/together.ts';

await together('test/foundation/messages', 'test/foundation/leases', 'test/foundation/redis');
