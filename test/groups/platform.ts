import { together } from '../support/together.ts';

await together('test/plugins/platform', 'test/plugins/pages');
