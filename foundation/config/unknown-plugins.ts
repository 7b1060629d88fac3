import { didYouMean } from '../base/nearest-name.ts';
import { ConfigurationError, type ConfigurationProblem } from './configuration-error.ts';
import type { GatewayFile } from './gateway-file.ts';

/**
 * The names in `SVC_PLUGINS` that no plugin has. `known`: those of folders, and of packages that gateway.yaml names.
 * Pure.
 */
export function unknownInVariable(
  only: readonly string[],
  known: readonly string[],
): readonly ConfigurationProblem[] {
  return only
    .filter((name) => !known.includes(name))
    .map((name) => ({
      name: 'SVC_PLUGINS',
      message: `there is no plugin ${name}${didYouMean(name, known)}`,
    }));
}

/**
 * @throws ConfigurationError where `SVC_PLUGINS` names a plugin that is not there: the process would run without it and
 * say that it is ready.
 */
export function requireKnown(
  only: readonly string[] | undefined,
  known: readonly { readonly name: string }[],
): void {
  const names = known.map(({ name }) => name);
  const problems = unknownInVariable(only ?? [], names);
  if (problems.length > 0) throw new ConfigurationError(problems);
}

/**
 * The entries of gateway.yaml whose plugin is not there, with their lines. An entry with a package or a path is none of
 * them: it leads to a plugin, or fails by itself. Pure.
 */
export function unknownInFile(file: GatewayFile, known: readonly string[]): readonly ConfigurationProblem[] {
  return [...file.plugins]
    .filter(([name, entry]) => !known.includes(name) && (entry.package ?? entry.path) === undefined)
    .map(([name]) => ({
      name: `plugins.${name}`,
      message: `no folder holds such a plugin${didYouMean(name, known)}`,
      ...file.locate(['plugins', name]),
    }));
}
