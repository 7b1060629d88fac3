import { together } from '../support/together.ts';

await together('test/plugins/workflow', '!test/plugins/workflow/services', '!test/plugins/workflow/store');
