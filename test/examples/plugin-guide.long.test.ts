import { followChapters } from './follow-documents.ts';

followChapters(['docs/plugins.md']);
