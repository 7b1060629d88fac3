import {
  type FieldError,
  GatewayError,
  ResourceErrors,
  type ResourceSource,
  type Resources,
} from 'agent-gateway';

/** Why the API leaves the file of a resource to those who wrote it; undefined where it may change or delete it. Pure. */
export function whyNotOurs({ file, isAlone }: ResourceSource): string | undefined {
  if (!isAlone) return `The file ${file} holds other resources too: change it there.`;
  if (file.includes('/')) return `The file ${file} lies in a folder below agents.d: change it there.`;
  return undefined;
}

/** A file of agents.d as it shall be. */
export interface OwnFile {
  readonly file: string;
  readonly yaml: string;
  /** One that exists is `resource.exists`. */
  readonly isNew: boolean;
}

/**
 * Writes a file of agents.d; resolves when it is live. What is wrong with it is the error that `invalid` makes of the problems, whose pointers lead
 * into the document; else throws `resource.*`.
 */
export async function writeOwnFile(
  resources: Pick<Resources, 'write'>,
  { file, yaml, isNew }: OwnFile,
  invalid: (problems: readonly FieldError[]) => GatewayError,
): Promise<void> {
  try {
    await resources.write(file, yaml, { isNew });
  } catch (error) {
    const isInvalid = error instanceof GatewayError && error.code === ResourceErrors.invalid.definition.code;
    throw isInvalid ? invalid(error.extras.errors ?? []) : error;
  }
}
