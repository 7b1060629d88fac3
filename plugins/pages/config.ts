import { field, Type } from 'agent-gateway';

/** Settings of the static pages. */
export const PagesConfig = Type.Object({
  static_dir: field.string({
    env: 'SAAS_STATIC_DIR',
    unset: 'no pages are served',
    description: 'Folder whose pages are served: `/` (index.html), `/admin.html` and `/static/*`',
  }),
});
