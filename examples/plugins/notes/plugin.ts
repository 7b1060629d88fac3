import { definePlugin, PersonalDataPoint } from 'agent-gateway';
import { NotesConfig } from './config.ts';
import { NotesRef } from './contract.ts';
import { noteRoutes } from './routes/notes.ts';
import { createNotes } from './services/notes.ts';
import { createPersonalData } from './services/personal-data.ts';
import { initial } from './store/001-initial.ts';
import { Note } from './store/note.ts';

export default definePlugin({
  name: 'notes',
  summary: 'Short notes that a tenant keeps',
  version: '1.0.0',
  kernel: '^1.0.0',
  config: NotesConfig,
  offers: [NotesRef],
  entities: [Note],
  migrations: [initial],
  setup(scope) {
    const { clock, database, ids } = scope.services;
    const kept = scope.metric.counter({ name: 'notes_kept_total', help: 'Notes that were kept.' });
    const notes = createNotes({ settings: scope.config, clock, ids, onKept: () => kept.inc() });
    scope.provide(NotesRef, notes);
    scope.route(...noteRoutes(notes));
    scope.contribute(PersonalDataPoint, createPersonalData(database));
  },
});
