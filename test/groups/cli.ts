import { together } from '../support/together.ts';

// The longest, for what it starts: so it is among the first, and not alone at the end.
await together('test/cli', 'test/examples');
