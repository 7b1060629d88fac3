import { type FieldError, type Identity, ResourceErrors, type Resources } from 'agent-gateway';
import { requireOperator } from './operator.ts';
import { writeOwnFile } from './own-file.ts';
import { newYaml, type ResourceContent, specOf } from './resource-yaml.ts';

const KIND = 'Model';

export type ModelDefinitions = ReturnType<typeof createModelDefinitions>;

/** The definitions of the deployment's models, which are files of agents.d. */
export function createModelDefinitions(resources: Pick<Resources, 'source' | 'write'>) {
  return {
    /**
     * Writes `model-<name>.yaml`; resolves when the model is live. Throws `admin.operator-required`, `resource.exists`
     * and `resource.not-writable`; `resource.invalid` with problems whose pointers `fieldOf` converts from the document
     * to the request.
     */
    async create(
      caller: Identity,
      { name, ...content }: ResourceContent & { readonly name: string },
      fieldOf: (pointer: string) => string,
    ): Promise<void> {
      requireOperator(caller);
      const problemOf = ({ pointer, message }: FieldError) => ({ pointer: fieldOf(pointer), message });
      const file = { file: `model-${name}.yaml`, yaml: newYaml(KIND, name, content) };
      await writeOwnFile(resources, file, (problems) =>
        ResourceErrors.invalid(undefined, { errors: problems.map(problemOf) }),
      );
    },

    /** `spec` of the model as it was written; undefined where no file declares it, or the file is invalid now. */
    specOf: (name: string) => specOf(resources.source(KIND, name)?.yaml ?? ''),
  };
}
