import { together } from '../support/together.ts';

await together('test/cli', 'test/testing', 'test/scripts', 'test/examples');
