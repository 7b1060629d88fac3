import { defineErrors } from '../base/gateway-error.ts';

/** What can go wrong with writing files of agents.d through the administration. */
export const ResourceErrors = defineErrors({
  /** Carries `errors` with pointers into the document, each with its `line`. */
  invalid: { code: 'resource.invalid', kind: 'invalid', title: 'The resource is not valid' },
  badFileName: { code: 'resource.bad-file-name', kind: 'invalid', title: 'This is no name for a file' },
  exists: { code: 'resource.exists', kind: 'conflict', title: 'There is such a resource already' },
  notFound: { code: 'resource.not-found', kind: 'not-found', title: 'There is no such resource' },
  /** The folder is read-only, or the file is a link: what wrote it has to change it. */
  notWritable: { code: 'resource.not-writable', kind: 'conflict', title: 'The file cannot be written' },
  /** Too many others wait to change or reload the folder. */
  busy: { code: 'resource.busy', kind: 'unavailable', title: 'Too many changes of resources are waiting' },
});
