import satisfies from 'semver/functions/satisfies.js';
import type { Plugin } from '../api/plugin.ts';

/** The version of the plugin contract that this kernel offers. */
export const KERNEL_VERSION = '1.0.0';

/** @throws Error when the plugin was written for another version of the contract. */
export function checkKernelRange(plugin: Plugin): void {
  if (typeof plugin.kernel !== 'string') {
    throw new Error(
      `${plugin.name} does not say which kernel it works with: write kernel: '^${KERNEL_VERSION}' in its definition`,
    );
  }
  if (satisfies(KERNEL_VERSION, plugin.kernel)) return;
  throw new Error(`${plugin.name} works with kernel ${plugin.kernel}; this one is ${KERNEL_VERSION}`);
}
