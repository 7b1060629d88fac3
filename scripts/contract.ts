/**
 * Shows how the contract of plugins differs from that of the last release, and which version of the kernel that
 * requires; exits 1 where the kernel has a lower one. `--release` keeps the current contract as that of a release of
 * the kernel's version.
 */
import path from 'node:path';
import { KERNEL_VERSION } from '../kernel/version.ts';
import { contractState, release, versionProblems } from './contract/released-contract.ts';

const root = path.dirname(import.meta.dirname);
const state = await contractState(root);
for (const { name, reach, what } of state.changes) process.stdout.write(`${reach}: ${name} ${what}\n`);
const problems = versionProblems(state, KERNEL_VERSION);
if (process.argv.includes('--release') && (problems.length === 0 || state.released === undefined)) {
  await release(root, KERNEL_VERSION);
  process.stdout.write(`api/released/${KERNEL_VERSION} written\n`);
} else if (problems.length > 0) {
  process.stderr.write(`${problems[0]}\n`);
  process.exitCode = 1;
} else {
  process.stdout.write(`Kernel ${KERNEL_VERSION}: at least ${state.least} is asked for\n`);
}
