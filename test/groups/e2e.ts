import { together } from '../support/together.ts';

await together('test/e2e', 'test/faults');
