import { together } from '../support/together.ts';

await together('test/testing', 'test/scripts');
