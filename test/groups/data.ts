import { together } from '../support/together.ts';

await together('test/foundation/data', 'test/foundation/audit', 'test/foundation/tables');
