/** How much of what agents have learned leaves a tenant, from the least to the most (decisions 1.11). */
export const SHARING_MODES = ['disabled', 'anonymous', 'trusted'] as const;

/** `disabled`: nothing. `anonymous`: without the name of the sender. `trusted`: with it. */
export type SharingMode = (typeof SHARING_MODES)[number];

/**
 * The mode in force where the deployment allows `global` and the tenant wants `contribution`: the lesser of both. Pure.
 */
export function effectiveMode(global: SharingMode, contribution: SharingMode): SharingMode {
  return SHARING_MODES.indexOf(global) < SHARING_MODES.indexOf(contribution) ? global : contribution;
}
