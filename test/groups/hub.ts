import { together } from '../support/together.ts';

await together('test/plugins/hub');
