import { quickenImports } from '../../foundation/code/quick-imports.ts';

/* As a gateway does. A test process is spared seven hundred files. */
quickenImports();
