import { together } from '../support/together.ts';

await together('test/plugins/agent-engine', '!test/plugins/agent-engine/services/guard');
