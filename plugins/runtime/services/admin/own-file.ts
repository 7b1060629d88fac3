import {
  type FieldError,
  type GatewayError,
  ResourceErrors,
  type ResourceSource,
  type Resources,
} from 'agent-gateway';

/**
 * Why the API does not change the file of a resource, but leaves it to its author; undefined where it may change or
 * delete it. Pure.
 */
export function whyNotOurs({ file, isAlone }: ResourceSource): string | undefined {
  if (!isAlone) return `The file ${file} holds other resources too: change it there.`;
  if (file.includes('/')) return `The file ${file} lies in a folder below agents.d: change it there.`;
  return undefined;
}

/** The file of agents.d to be written. */
export interface OwnFile {
  readonly file: string;
  readonly yaml: string;
  /**
   * What was changed, and is all that the file holds; else it is `resource.changed`. Undefined: it is new, and one that
   * exists is `resource.exists`.
   */
  readonly before?: string;
}

/**
 * Writes a file of agents.d; resolves when it is live. For an invalid document it throws the error that `invalid` makes
 * of the problems, whose pointers lead into the document; for other failures `resource.*`.
 */
export async function writeOwnFile(
  resources: Pick<Resources, 'write'>,
  { file, yaml, before }: OwnFile,
  invalid: (problems: readonly FieldError[]) => GatewayError,
): Promise<void> {
  try {
    await resources.write(file, yaml, { isNew: before === undefined, before });
  } catch (error) {
    const isInvalid = ResourceErrors.invalid.is(error);
    throw isInvalid ? invalid(error.extras.errors ?? []) : error;
  }
}
