/**
 * A gateway's stand-in that can be killed: runs the shell script of its first argument in the local sandbox, and prints
 * its output.
 */
import { openTestSandbox, sandboxJob } from './sandbox.ts';

const sandbox = await openTestSandbox({ mode: 'local' });
const { stdout } = await sandbox.run(sandboxJob('shell', process.argv[2]!, { timeoutMs: 600_000 }));
process.stdout.write(stdout);
