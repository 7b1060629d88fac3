import { stat } from 'node:fs/promises';
import path from 'node:path';
import {
  defineErrors,
  type FieldError,
  type Identity,
  ResourceErrors,
  type ResourceSource,
  type Resources,
} from 'agent-gateway';
import { parse, parseAllDocuments, parseDocument, stringify } from 'yaml';
import { requireOperator } from './admin/operator.ts';
import { whyNotOurs } from './admin/own-file.ts';

/** Kinds that are written through the API. */
export type WrittenKind = 'Agent' | 'Model';

/** What a new resource is made of. */
export interface NewResource {
  readonly name: string;
  readonly description?: string | undefined;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** Where in the request a place of the document comes from: RFC 6901 pointers both. */
export type FieldOf = (pointer: string) => string;

/** What can go wrong with files of agents.d that are written for a caller, beside `ResourceErrors`. */
export const ResourceFileErrors = defineErrors({
  notAlone: {
    code: 'resource.not-alone',
    kind: 'conflict',
    title: 'The file of the resource is not its own',
  },
});

/** Files of agents.d, each of one resource. */
export type ResourceFiles = ReturnType<typeof createResourceFiles>;

/** Makes the service. What changes a file throws `admin.operator-required` for callers that are not the operator, and `ResourceErrors`. */
export function createResourceFiles(resources: Resources) {
  /** The document of a resource whose file may be written. */
  function requireOwnFile(kind: WrittenKind, name: string): ResourceSource {
    const source = resources.source(kind, name);
    if (source === undefined) throw ResourceErrors.notFound(`There is no ${kind} of this name in agents.d`);
    const why = whyNotOurs(source);
    if (why !== undefined) throw ResourceFileErrors.notAlone(why);
    return source;
  }

  function check(
    yaml: string,
    tell: (error: { line: number; pointer: string; message: string }) => FieldError,
  ) {
    const { errors } = resources.validate(yaml);
    if (errors.length > 0) throw ResourceErrors.invalid(undefined, { errors: errors.map(tell) });
  }

  return {
    /** Throws `resource.exists` for a name that is taken. */
    async create(caller: Identity, kind: WrittenKind, given: NewResource, fieldOf: FieldOf): Promise<void> {
      requireOperator(caller);
      const { name, description, spec } = given;
      const metadata = { name, ...(description && { description }) };
      const yaml = stringify({ apiVersion: 'svc/v1', kind, metadata, spec });
      check(yaml, ({ pointer, message }) => ({ pointer: fieldOf(pointer), message }));
      await resources.write(fileOf(kind, name), yaml, { isNew: true });
    },

    /** What is absent stays; comments outside of `spec` stay, too. */
    async update(
      caller: Identity,
      kind: WrittenKind,
      { name, description, spec }: Pick<NewResource, 'name' | 'description'> & Partial<NewResource>,
      fieldOf: FieldOf,
    ): Promise<void> {
      requireOperator(caller);
      const { file, yaml } = requireOwnFile(kind, name);
      const document = parseDocument(yaml);
      if (description !== undefined) document.setIn(['metadata', 'description'], description);
      if (spec !== undefined) document.set('spec', document.createNode(spec));
      const changed = document.toString();
      check(changed, ({ pointer, message }) => ({ pointer: fieldOf(pointer), message }));
      await resources.write(file, changed);
    },

    async remove(caller: Identity, kind: WrittenKind, name: string): Promise<void> {
      requireOperator(caller);
      await resources.remove(requireOwnFile(kind, name).file);
    },

    /** Writes a text of one document of the kind, in the place of the resource of its name where there is one. Returns the name. */
    async load(caller: Identity, kind: WrittenKind, yaml: string, field: string): Promise<string> {
      requireOperator(caller);
      check(yaml, ({ line, pointer, message }) => ({
        pointer: field,
        message: `line ${line}: ${pointer} ${message}`.replace('  ', ' '),
      }));
      const [only, ...others] = parseAllDocuments(yaml)
        .map((document) => document.toJS())
        .filter((document) => document !== null);
      if (only?.kind !== kind || others.length > 0) {
        const errors = [{ pointer: field, message: `must be one document of the kind ${kind}` }];
        throw ResourceErrors.invalid(undefined, { errors });
      }
      const name = String(only.metadata.name);
      const isNew = resources.source(kind, name) === undefined;
      await resources.write(isNew ? fileOf(kind, name) : requireOwnFile(kind, name).file, yaml, { isNew });
      return name;
    },

    /** What files say of resources of a kind, by name; of one in no file nothing. */
    reader(kind: WrittenKind) {
      const { folder, files } = resources.report();
      const documents = files.flatMap((file) => file.documents).filter((one) => one.kind === kind);
      const outdated = new Set(documents.filter((one) => one.servesLastGood).map(({ name }) => name));
      return {
        isOutdated: (name: string): boolean => outdated.has(name),
        /** `spec` as it was written; undefined where the document cannot be read now. */
        spec(name: string): Readonly<Record<string, unknown>> | undefined {
          try {
            return parse(resources.source(kind, name)?.yaml ?? '')?.spec;
          } catch {
            return undefined;
          }
        },
        /** When the file was made and last written; undefined where it is gone by now. */
        async times(name: string): Promise<{ readonly created: Date; readonly updated: Date } | undefined> {
          const source = resources.source(kind, name);
          const found = source && (await stat(path.join(folder, source.file)).catch(() => undefined));
          if (found === undefined) return undefined;
          const { birthtime, mtime } = found;
          return { created: birthtime < mtime ? birthtime : mtime, updated: mtime };
        },
      };
    },
  };
}

/** Kinds have names of their own: an agent and a model may be called alike. */
function fileOf(kind: WrittenKind, name: string): string {
  return `${kind.toLowerCase()}-${name}.yaml`;
}
