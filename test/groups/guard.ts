import { together } from '../support/together.ts';

// Long computations: what waits for answers beside them would wait too long.
await together('test/plugins/agent-engine/services/guard', 'test/foundation/redaction');
