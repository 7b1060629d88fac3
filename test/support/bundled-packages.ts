import { useBundledPackages } from '../../foundation/code/bundled-packages.ts';

/* As a gateway loads its packages. A test process is spared seven hundred files. */
useBundledPackages();
