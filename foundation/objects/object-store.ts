import type {
  Deleted,
  GetOptions,
  ListOptions,
  ObjectBody,
  ObjectInfo,
  ObjectPage,
  PutOptions,
  StoredObject,
} from './objects.ts';

/**
 * What a form of object storage implements, below the checks of `createObjectSpace`: keys are whole (`<tenant>/…`) and
 * valid, prefixes are valid, a range has whole numbers in order. Promises are those of `ObjectSpace`.
 */
export interface ObjectStore {
  put(key: string, body: ObjectBody, options: StorePutOptions): Promise<ObjectInfo>;
  get(key: string, options: GetOptions): Promise<StoredObject | undefined>;
  head(key: string): Promise<ObjectInfo | undefined>;
  delete(key: string): Promise<boolean>;
  list(prefix: string, options: Required<Pick<ListOptions, 'limit'>> & ListOptions): Promise<ObjectPage>;
  deleteAll(prefix: string): Promise<Deleted>;
  check(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** `PutOptions` with their defaults. */
export type StorePutOptions = PutOptions & Required<Pick<PutOptions, 'contentType' | 'limit'>>;
