import type { Clock, Ids } from 'agent-gateway';
import type { NotesSettings } from '../config.ts';
import { NoteErrors, type Notes } from '../contract.ts';
import { countNotes, deleteNote, findNotes, insertNote } from '../store/note.ts';

/** What the notes are made of. */
export interface NotesParts {
  readonly settings: NotesSettings;
  readonly clock: Clock;
  readonly ids: Ids;
  onKept(): void;
}

/** Makes the service behind the routes and behind `NotesRef`. */
export function createNotes({ settings, clock, ids, onKept }: NotesParts): Notes {
  return {
    async keep(entities, text) {
      // Simultaneous callers may get a little above the limit: it bounds the table, it is no exact quota.
      if ((await countNotes(entities)) >= settings.max_notes) throw NoteErrors.full();
      const note = { id: ids.uuid(), text, createdAt: new Date(clock.now()) };
      await insertNote(entities, note);
      onKept();
      return note;
    },
    list: findNotes,
    async remove(entities, id) {
      if (!(await deleteNote(entities, id))) throw NoteErrors.notFound();
    },
  };
}
